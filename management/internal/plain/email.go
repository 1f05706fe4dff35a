package plain

import (
	"net/mail"
	"strings"
	"unicode"
)

// MaxEmail is the greatest length of an e-mail address, in characters (§4.5).
const MaxEmail = 254

// NormalizeEmail returns an address with its domain in lower case, or false if it is invalid. It
// refuses invisible characters and full-width forms, with which two different addresses could look
// the same.
func NormalizeEmail(text string) (string, bool) {
	if strings.ContainsFunc(text, isMisleading) {
		return "", false
	}
	at := strings.LastIndexByte(text, '@')
	if at < 1 || at > 64 || strings.ContainsAny(text, " \t\r\n\"(),:;<>[]\\") {
		return "", false
	}
	if parsed, err := mail.ParseAddress(text); err != nil || parsed.Address != text || parsed.Name != "" {
		return "", false
	}
	domain := strings.ToLower(text[at+1:])
	if domain != "localhost" && (!strings.Contains(domain, ".") || strings.Trim(domain, ".-") != domain) {
		return "", false
	}
	return text[:at+1] + domain, true
}

// isMisleading reports whether a character is invisible or easily mistaken for another: unprintable
// characters, printable fillers and joiners, unusual spaces, marks that change the character before
// them, and full-width and half-width forms of letters and signs.
func isMisleading(r rune) bool {
	switch {
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, r == 0x034f: // letters and signs without an image
		return true
	case 0xff00 <= r && r <= 0xffef, 0xfe00 <= r && r <= 0xfe0f, 0xfe50 <= r && r <= 0xfe6f, r == 0x3002: // widths, variants, other dots
		return true
	}
	return !unicode.IsPrint(r) || r > unicode.MaxLatin1 && unicode.IsSpace(r)
}
