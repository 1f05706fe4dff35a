package organizations

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"errors"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// kindProgram is the kind of records of programs that wait for a person's consent: ID is the hash
// of the device code, Other the address of the program, Sort the time of expiry, Unique the hash of
// the user code. Codes are stored only as hashes.
const kindProgram = "program_sign_in"

const (
	// userCodeLetters has no vowels, and no letters that look like another letter or a digit.
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8
)

// freeUserCode returns a random user code that no other program has.
func freeUserCode(tx Tx) (string, error) {
	for range 10 {
		code := newUserCode()
		if r, err := tx.Find(kindProgram, management.HashKey(code)); err != nil || r == nil {
			return code, err
		}
	}
	return "", errors.New("no user code is free")
}

// newUserCode returns a random code such as BCDF-GHJK. Random bytes above the largest multiple of
// the number of letters are skipped, so that all letters are equally likely.
func newUserCode() string {
	code := make([]byte, 0, userCodeLength+1)
	for b := make([]byte, 1); len(code) < userCodeLength+1; {
		if len(code) == userCodeLength/2 {
			code = append(code, '-')
		}
		_, _ = rand.Read(b) // never fails
		if n := len(userCodeLetters); int(b[0]) < 256/n*n {
			code = append(code, userCodeLetters[int(b[0])%n])
		}
	}
	return string(code)
}

// normalizeUserCode returns the stored form of a code that a person has typed, or "" if its length
// is wrong.
func normalizeUserCode(typed string) string {
	code := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -\t", r) {
			return -1
		}
		return r
	}, strings.ToUpper(typed))
	if len(code) != userCodeLength {
		return ""
	}
	return code[:userCodeLength/2] + "-" + code[userCodeLength/2:]
}

// deviceID returns the Record.ID of a program by its device code.
func deviceID(device string) string { return strings.TrimPrefix(management.HashKey(device), "sha256$") }

// keyOfDevice derives the key of a program from its device code. The store then needs only the hash
// of the key, and every server can return the key to the program.
func keyOfDevice(device string) string {
	const letters, length = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 47
	mac := hmac.New(sha512.New, []byte(device))
	_, _ = mac.Write([]byte("personal key")) // never fails
	key := mac.Sum(nil)[:length]
	for i, b := range key {
		key[i] = letters[int(b)%len(letters)]
	}
	return "phx_" + string(key)
}
