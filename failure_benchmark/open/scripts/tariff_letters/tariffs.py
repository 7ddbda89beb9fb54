"""The texts of letters."""


def letter(customer):
    return f"Dear customer {customer}, from May a kilowatt hour costs 31 cents."
