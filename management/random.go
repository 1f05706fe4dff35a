package management

import (
	"crypto/rand"
	"math/big"
)

// base62 are the digits of keys.
const base62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// RandomText returns n random bytes as a number in base 62, for keys and tokens (§1.1). All results
// for an n have the same length.
func RandomText(n int) string {
	bytes := make([]byte, n)
	_, _ = rand.Read(bytes) // never fails
	bytes[0] |= 0x80        // fixes the length of the result, at the cost of one bit
	number, base, digit := new(big.Int).SetBytes(bytes), big.NewInt(62), new(big.Int)
	var out []byte
	for number.Sign() > 0 {
		number.DivMod(number, base, digit)
		out = append(out, base62[digit.Int64()])
	}
	return string(out)
}
