package unpack

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

type lzVector struct {
	Name, Text, Base64, URI, UTF16, Bytes string
	Repeat                                int
}

func (v lzVector) full() string { return strings.Repeat(v.Text, max(v.Repeat, 1)) }

func lzVectors(t testing.TB) []lzVector {
	var file struct{ Cases []lzVector }
	raw, err := os.ReadFile("../../../../testdata/http/lz64.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// Texts compressed by lz-string 1.5.0, in all its formats.
func TestFlags_Decision9_LZ64Vectors(t *testing.T) {
	for _, v := range lzVectors(t) {
		want := v.full()
		raw, err := base64.StdEncoding.DecodeString(v.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		forms := map[string]string{
			"base64":          v.Base64,
			"no padding":      strings.TrimRight(v.Base64, "="),
			"percent escapes": strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(v.Base64),
			"blanks":          strings.ReplaceAll(v.Base64, "+", " "),
			"lines":           v.Base64 + "\r\n",
			"uri":             v.URI,
			"utf16":           v.UTF16,
			"bytes":           string(raw),
		}
		for form, packed := range forms {
			if packed == "" && want != "" {
				continue // not in the file
			}
			got, err := unpackLZ64([]byte(packed), 1<<20)
			if err != nil {
				t.Errorf("%s, %s: %v", v.Name, form, err)
			} else if string(got) != want {
				t.Errorf("%s, %s: got %.60q; want %.60q", v.Name, form, got, want)
			}
		}
	}
}

// The compressed event of spec/capture.md §17.1.
func TestCapture_17_1_LZ64(t *testing.T) {
	got, err := unpackLZ64([]byte("N4IghgDglg+g1gUwJ4gFwggCwMYwB4gA0ICAbggHYAuaJRIAJlAM5VQXZUxQO0CuIAL5A=="), 1<<10)
	if want := `{"api_key":"phc_x","event":"e","distinct_id":"u"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestFlags_Decision14_LZ64IsBounded(t *testing.T) {
	for _, v := range lzVectors(t) {
		want := v.full()
		if got, err := unpackLZ64([]byte(v.Base64), int64(len(want))); err != nil || string(got) != want {
			t.Errorf("%s: exactly at the limit: %v", v.Name, err)
		}
		if len(want) < 2 {
			continue
		}
		for _, limit := range []int64{1, int64(len(want)) / 2, int64(len(want)) - 1} {
			got, err := unpackLZ64([]byte(v.Base64), limit)
			if err == nil || err.Status != 413 || got != nil {
				t.Errorf("%s, limit %d: %d bytes, %v", v.Name, limit, len(got), err)
			}
		}
	}
}

func TestFlags_Decision9_LZ64Rejects(t *testing.T) {
	packed := "N4IghgDglg+g1gUwJ4gFwggCwMYwB4gA0ICAbggHYAuaJRIAJlAM5VQXZUxQO0CuIAL5A=="
	for name, text := range map[string]string{
		"cut in half":   packed[:len(packed)/2],
		"one digit":     "A",
		"unknown code":  "////",
		"first code 3":  "w===",
		"bytes":         "\x00\xff\x00",
		"plain JSON":    `{"token":"t"}`,
		"cut UTF-16":    "ᯡࠬ",
		"code too high": "IX/////",
	} {
		got, err := unpackLZ64([]byte(text), 1<<20)
		if err == nil || err.Status != 400 || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		} else if !strings.HasPrefix(err.Detail, "Failed to decode request: lz64 decompression failed: ") {
			t.Errorf("%s: %s", name, err.Detail)
		}
	}
}

func FuzzLZ64(f *testing.F) {
	for _, v := range lzVectors(f) {
		if len(v.Base64) < 4096 {
			f.Add([]byte(v.Base64))
			f.Add([]byte(v.UTF16))
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		const limit = 1 << 16
		out, err := unpackLZ64(packed, limit)
		if len(out) > limit || !utf8.Valid(out) {
			t.Fatalf("%d bytes", len(out))
		}
		if err != nil && (out != nil || err.Status != 400 && err.Status != 413) {
			t.Fatalf("%v", err)
		}
	})
}
