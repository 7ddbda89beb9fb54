# `make demo` and `make test` need Python 3.11+ and git; everything else they bring.
