// Columns that Python packed (packing.py): base64, deflated, integers of seven bits a byte.

/** @param {string} text @returns {Promise<Uint8Array>} */
async function inflated(text) {
  const raw = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Return integers, none of them negative.
 * @param {string} text @param {number} number @returns {Promise<Float64Array>}
 */
export async function integers(text, number) {
  const bytes = await inflated(text);
  const values = new Float64Array(number);
  let at = 0;
  for (let i = 0; i < number; i += 1) {
    let byte = bytes[at++];
    let value = byte & 127;
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
    }
    values[i] = value;
  }
  return values;
}

/**
 * Return integers of either sign.
 * @param {string} text @param {number} number @returns {Promise<Float64Array>}
 */
export async function signed(text, number) {
  const values = await integers(text, number);
  for (let i = 0; i < number; i += 1) values[i] = values[i] % 2 ? -(values[i] + 1) / 2 : values[i] / 2;
  return values;
}

/** Turn steps into what they lead to, in place. @param {Float64Array} steps */
export function summed(steps) {
  for (let i = 1; i < steps.length; i += 1) steps[i] += steps[i - 1];
  return steps;
}

/** @param {string} text @returns {Promise<string[]>} */
export async function texts(text) {
  return JSON.parse(new TextDecoder().decode(await inflated(text)));
}
