package unpack

import (
	"bytes"
	"testing"
)

// Unescaping in place gives the same result as the standard functions.
func FuzzCaptureText(f *testing.F) {
	for _, text := range []string{"", "eyJhIjoxfQ==", "eyJhIjoxfQ", "a+b%2B%zz%4", "~~~%3D", "data=a&b", "YQ==YQ==", "YQ=\n=", "QUJD\r\n", "   "} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := string(Unescape(bytes.Clone(text))), QueryText(string(text)); got != want {
			t.Errorf("unescape %q, want %q", got, want)
		}
		got := UndoBase64(bytes.Clone(text))
		if !isBase64(text) {
			if !bytes.Equal(got, text) {
				t.Errorf("%q became %q", text, got)
			}
			return
		}
		if want, ok := decodeBase64As(nil, text, 62); !ok || !bytes.Equal(got, want) {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, ok)
		}
	})
}
