"""Ascon-128 and AES, written from their specifications as plainly as Python allows.

The tests of the programs ascon and aes come from here, and the key schedule that aes is given by its control program.
"""

WORD = (1 << 64) - 1


# Ascon-128 (Ascon v1.2, section 2).


def rotate(word, bits):
    return (word >> bits | word << 64 - bits) & WORD


def ascon_round(state, number):
    x0, x1, x2, x3, x4 = state
    x2 ^= 15 - number << 4 | number
    x0, x2, x4 = x0 ^ x4, x2 ^ x1, x4 ^ x3
    x = [x0, x1, x2, x3, x4]
    x0, x1, x2, x3, x4 = (x[i] ^ ~x[(i + 1) % 5] & x[(i + 2) % 5] & WORD for i in range(5))
    x0, x1, x2, x3 = x0 ^ x4, x1 ^ x0, x2 ^ WORD, x3 ^ x2
    distances = (19, 28), (61, 39), (1, 6), (10, 17), (7, 41)
    return [x ^ rotate(x, a) ^ rotate(x, b) for x, (a, b) in zip((x0, x1, x2, x3, x4), distances)]


def permuted(state, rounds):
    for number in range(12 - rounds, 12):
        state = ascon_round(state, number)
    return state


def words(data):
    return [int.from_bytes(data[i : i + 8]) for i in range(0, len(data), 8)]


def padded(data):
    return words(data + b"\x80" + bytes(-(len(data) + 1) % 8))


def ascon(key, nonce, associated, plaintext):
    """Ciphertext and tag."""
    key = words(key)
    state = permuted([0x80400C0600000000, *key, *words(nonce)], 12)
    state[3:] = state[3] ^ key[0], state[4] ^ key[1]
    for word in padded(associated) if associated else ():
        state[0] ^= word
        state = permuted(state, 6)
    state[4] ^= 1
    *whole, last = padded(plaintext)
    ciphertext = b""
    for word in whole:
        state[0] ^= word
        ciphertext += state[0].to_bytes(8)
        state = permuted(state, 6)
    state[0] ^= last
    ciphertext += state[0].to_bytes(8)[: len(plaintext) % 8]
    state[1:3] = state[1] ^ key[0], state[2] ^ key[1]
    state = permuted(state, 12)
    return ciphertext, (state[3] ^ key[0]).to_bytes(8) + (state[4] ^ key[1]).to_bytes(8)


# AES (FIPS 197).


def times(a, b):
    """The product in GF(2^8)."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def substituted(byte):
    inverse = next((x for x in range(256) if times(byte, x) == 1), 0)
    bits = [inverse >> i & 1 for i in range(8)]
    return sum((bits[i] ^ bits[(i + 4) % 8] ^ bits[(i + 5) % 8] ^ bits[(i + 6) % 8] ^ bits[(i + 7) % 8]) << i for i in range(8)) ^ 0x63


S_BOX = [substituted(byte) for byte in range(256)]


def key_schedule(key):
    """A key of four words for each round, and for what is before them."""
    length = len(key) // 4
    schedule = [list(key[4 * i : 4 * i + 4]) for i in range(length)]
    constant = 1
    while len(schedule) < 4 * (length + 7):
        word = list(schedule[-1])
        if len(schedule) % length == 0:
            word = [S_BOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = times(constant, 2)
        elif length > 6 and len(schedule) % length == 4:
            word = [S_BOX[byte] for byte in word]
        schedule.append([a ^ b for a, b in zip(schedule[-length], word)])
    return [schedule[i : i + 4] for i in range(0, len(schedule), 4)]


def aes(key, block):
    schedule = key_schedule(key)
    state = [list(block[4 * column : 4 * column + 4]) for column in range(4)]

    def with_key(state, round_key):
        return [[a ^ b for a, b in zip(column, word)] for column, word in zip(state, round_key)]

    state = with_key(state, schedule[0])
    for number, round_key in enumerate(schedule[1:], 1):
        state = [[S_BOX[state[(column + row) % 4][row]] for row in range(4)] for column in range(4)]
        if number < len(schedule) - 1:
            state = [
                [times(c[r], 2) ^ times(c[(r + 1) % 4], 3) ^ c[(r + 2) % 4] ^ c[(r + 3) % 4] for r in range(4)]
                for c in state
            ]
        state = with_key(state, round_key)
    return bytes(byte for column in state for byte in column)
