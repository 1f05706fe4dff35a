package management

import (
	"crypto/rand"
	"math/big"
)

// base62 are the digits of keys.
const base62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// RandomText is n random bytes as a number in base 62, as keys have it (§1.1).
func RandomText(n int) string {
	bytes := make([]byte, n)
	_, _ = rand.Read(bytes) // never fails
	bytes[0] |= 0x80        // so that all have the same length, at the price of one bit
	number, base, digit := new(big.Int).SetBytes(bytes), big.NewInt(62), new(big.Int)
	var out []byte
	for number.Sign() > 0 {
		number.DivMod(number, base, digit)
		out = append(out, base62[digit.Int64()])
	}
	return string(out)
}
