package organizations

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"errors"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// kindProgram is a program that waits for somebody to let it in: ID is the hash of its
// device code, Other the address it came from, Sort when it is too late, Unique the hash
// of its user code. No code is kept in clear.
const kindProgram = "program_sign_in"

const (
	// userCodeLetters have no vowels, and none that look alike or like a digit.
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8
)

// freeUserCode makes a code that no other program has.
func freeUserCode(tx Tx) (string, error) {
	for range 10 {
		code := newUserCode()
		if r, err := tx.Find(kindProgram, management.HashKey(code)); err != nil || r == nil {
			return code, err
		}
	}
	return "", errors.New("no user code is free")
}

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

// normalizeUserCode is a user code as it is kept, of what a person has typed.
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

func deviceID(device string) string { return strings.TrimPrefix(management.HashKey(device), "sha256$") }

// keyOfDevice is the key that a program gets: a function of the device code, so that the
// store never has it, and every server can hand it out.
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
