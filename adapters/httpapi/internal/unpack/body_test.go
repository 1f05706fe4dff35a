package unpack

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
)

const smallBody = `{"token":"phc_x","distinct_id":"ünïx~~~>>>???"}`

func packed(t testing.TB, text string, to func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	w := to(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipped(t testing.TB, text string) []byte {
	return packed(t, text, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func zlibbed(t testing.TB, text string) []byte {
	return packed(t, text, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

// lzSmallBody is smallBody compressed by lz-string 1.5.0 (compressToBase64).
const lzSmallBody = "N4IgLg9g1gpgdiAXCADgCwMYH0AeIA0IAJgJYDOYJcGYWJRSIAP3APc4B+XAfLwPwCQAXyA="

const formType = "application/x-www-form-urlencoded"

// Every encoding of smallBody decodes to smallBody.
func TestFlags_9_3_Unpack(t *testing.T) {
	gz := gzipped(t, smallBody)
	b64 := base64.StdEncoding.EncodeToString([]byte(smallBody))
	bare := strings.TrimRight(b64, "=")
	if !strings.Contains(b64, "+") || !strings.Contains(b64, "/") || bare == b64 {
		t.Fatal("smallBody does not show the hard parts of base64:", b64)
	}
	for name, c := range map[string]struct {
		body                               []byte
		contentType, encoding, compression string
	}{
		"no headers":                 {body: []byte(smallBody)},
		"json":                       {[]byte(smallBody), "application/json", "", ""},
		"json with parameters":       {[]byte(smallBody), "application/json; charset=utf-8", "", ""},
		"json, other case":           {[]byte(smallBody), "Application/JSON", "", ""},
		"text":                       {[]byte(smallBody), "text/plain", "", ""},
		"identity":                   {[]byte(smallBody), "text/plain", "identity", ""},
		"unknown encoding":           {[]byte(smallBody), "text/plain", "aws-chunked", ""},
		"row 120: gzip, no marker":   {gz, "", "", ""},
		"gzip":                       {gz, "text/plain", "", "gzip"},
		"gzip-js":                    {gz, "text/plain", "", "gzip-js"},
		"GZIP":                       {gz, "text/plain", "", "GZIP"},
		"gzip by header":             {gz, "application/json", "gzip", ""},
		"gzip by header and query":   {gz, "application/json", "gzip", "gzip"},
		"gzip, wrong header":         {gz, "application/json", "br", ""},
		"deflate":                    {zlibbed(t, smallBody), "application/json", "deflate", ""},
		"base64":                     {[]byte(b64), "text/plain", "", "base64"},
		"base64, no padding":         {[]byte(bare), "text/plain", "", "base64"},
		"base64, percent escapes":    {[]byte(url.QueryEscape(b64)), "text/plain", "", "base64"},
		"base64 for URLs":            {[]byte(base64.RawURLEncoding.EncodeToString([]byte(smallBody))), "", "", "base64"},
		"base64, lines":              {[]byte(b64[:20] + "\r\n" + b64[20:] + "\n"), "", "", "base64"},
		"base64, blank noise":        {[]byte(b64[:20] + "  " + b64[20:] + " "), "", "", "base64"},
		"base64, plus became blank":  {[]byte(strings.ReplaceAll(b64, "+", " ")), "", "", "base64"},
		"base64 of gzip":             {[]byte(base64.StdEncoding.EncodeToString(gz)), "", "", "base64"},
		"base64 in gzip":             {gzipped(t, b64), "", "gzip", "base64"},
		"base64 announced, but JSON": {[]byte(smallBody), "", "", "base64"},
		"lz64":                       {[]byte(lzSmallBody), "text/plain", "", "lz64"},
		"lz64 in gzip":               {gzipped(t, lzSmallBody), "text/plain", "gzip", "lz64"},
		"form":                       {[]byte("data=" + url.QueryEscape(b64)), formType, "", ""},
		"form, charset":              {[]byte("data=" + url.QueryEscape(b64)), formType + "; charset=UTF-8", "", "base64"},
		"row 121: form, no padding":  {[]byte("data=" + bare), formType, "", ""},
		"form, no escapes":           {[]byte("data=" + b64), formType, "", ""},
		"form, escaped blanks":       {[]byte("data=" + strings.ReplaceAll(bare, "+", "%20")), formType, "", ""},
		"form, no data=":             {[]byte(b64), formType, "", "base64"},
		"form, member after":         {[]byte("data=" + url.QueryEscape(b64) + "&ip=0&_=1"), formType, "", ""},
		"form, member before":        {[]byte("ip=0&data=" + url.QueryEscape(b64)), formType, "", ""},
		"form, lz64":                 {[]byte("data=" + url.QueryEscape(lzSmallBody)), formType, "", "lz64"},
		"form, lz64 member":          {[]byte("data=" + url.QueryEscape(lzSmallBody) + "&compression=lz64"), formType, "", ""},
		"form, JSON":                 {[]byte("data=" + url.QueryEscape(smallBody)), formType, "", ""},
		"form, curl -d":              {[]byte(smallBody), formType, "", ""},
		"form in gzip":               {gzipped(t, "data="+b64), formType, "gzip", ""},
	} {
		for _, buf := range [][]byte{nil, make([]byte, 3), make([]byte, 0, 4096)} {
			raw := bytes.Clone(c.body)
			got, err := Body(raw, c.contentType, c.encoding, c.compression, 0, buf, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if string(got) != smallBody {
				t.Errorf("%s: %q", name, got)
			}
			if !bytes.Equal(raw, c.body) {
				t.Errorf("%s: raw was overwritten", name)
			}
		}
	}
}

func TestFlags_9_3_UnpackRefuses(t *testing.T) {
	gz := gzipped(t, smallBody)
	broken := bytes.Clone(gz)
	broken[len(broken)-5] ^= 1 // size of the content
	const failed = "Failed to decode request: "
	for name, c := range map[string]struct {
		body                               []byte
		contentType, encoding, compression string
		detail, attr                       string
	}{
		"unknown compression":  {[]byte(smallBody), "", "", "zstd", "Unsupported compression type", "compression"},
		"the same in a form":   {[]byte("data=e30"), formType, "", "zstd", "Unsupported compression type", "compression"},
		"gzip form":            {[]byte("data=e30"), formType, "", "gzip", "Gzip compression not supported for form-urlencoded data", "compression"},
		"gzip-js form":         {[]byte("data=e30"), formType, "", "gzip-js", "Gzip compression not supported for form-urlencoded data", "compression"},
		"gzip form member":     {[]byte("data=e30&compression=gzip-js"), formType, "", "", "Gzip compression not supported for form-urlencoded data", "compression"},
		"form, not base64":     {[]byte("data=!!!"), formType, "", "", failed + "Base64 decoding error. Please check", "data"},
		"form, one digit":      {[]byte("data=A"), formType, "", "", failed + "Base64 decoding error", "data"},
		"form, after padding":  {[]byte("data=e30=e30="), formType, "", "", failed + "Base64 decoding error", "data"},
		"content type":         {[]byte(smallBody), "application/xml; a=b", "", "", failed + "unsupported content type: application/xml; a=b. Please check your request format and try again.", "Content-Type"},
		"gzip announced, JSON": {[]byte(smallBody), "", "", "gzip", failed + "gzip decompression failed: gzip: invalid header (at byte 10 of ", ""},
		"gzip header, JSON":    {[]byte(smallBody), "", "gzip", "", failed + "gzip decompression failed: ", ""},
		"gzip cut":             {gz[:len(gz)-10], "", "", "", failed + "gzip decompression failed: unexpected EOF", ""},
		"gzip cut in header":   {gz[:5], "", "", "", failed + "gzip decompression failed: unexpected EOF", ""},
		"gzip cut in trailer":  {gz[:len(gz)-1], "", "", "", failed + "gzip decompression failed: unexpected EOF", ""},
		"gzip checksum":        {broken, "", "", "", failed + "gzip decompression failed: gzip: invalid checksum", ""},
		"gzip of nothing":      {nil, "", "", "gzip", failed + "gzip decompression failed: unexpected EOF", ""},
		"deflate, not zlib":    {[]byte(smallBody), "", "deflate", "", failed + "deflate decompression failed: ", ""},
		"deflate cut":          {zlibbed(t, smallBody)[:20], "", "deflate", "", failed + "deflate decompression failed: unexpected EOF", ""},
		"lz64":                 {[]byte("////"), "", "", "lz64", failed + "lz64 decompression failed: ", ""},
	} {
		got, err := Body(c.body, c.contentType, c.encoding, c.compression, 0, nil, nil)
		switch {
		case err == nil:
			t.Errorf("%s: accepted as %q", name, got)
		case err.Status != 400 || !strings.HasPrefix(err.Detail, c.detail) || err.Attr != c.attr:
			t.Errorf("%s: %d %q %q", name, err.Status, err.Detail, err.Attr)
		}
	}
}

// RFC 1952: members may follow one another. Data after the last member is ignored, as by the
// service's decoder.
func TestFlags_9_3_GzipMembers(t *testing.T) {
	half := len(smallBody) / 2
	two := append(gzipped(t, smallBody[:half]), gzipped(t, smallBody[half:])...)
	for name, body := range map[string][]byte{
		"two members":   two,
		"empty member":  append(gzipped(t, ""), two...),
		"zeros after":   append(bytes.Clone(two), 0, 0, 0),
		"garbage after": append(bytes.Clone(two), "garbage"...),
	} {
		if got, err := Body(body, "", "", "", 0, nil, nil); err != nil || string(got) != smallBody {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := Body(two[:len(two)-3], "", "", "", 0, nil, nil); err == nil {
		t.Errorf("second member cut: %q", got)
	}
}

func TestFlags_9_11_BodyTooLarge(t *testing.T) {
	const limit = 1 << 16
	zeros := func(n int) string { return strings.Repeat("0", n) }
	b64 := base64.StdEncoding.EncodeToString([]byte(zeros(limit + 1)))
	want := func(n int) string {
		return fmt.Sprintf("Decompressed request body exceeded 65536 bytes (got %d). If this is a legitimate workload, contact PostHog support.", n)
	}
	for name, c := range map[string]struct {
		body                  []byte
		contentType, encoding string
		compression           string
		detail                string
	}{
		"plain":          {[]byte(zeros(limit + 5)), "", "", "", want(limit + 5)},
		"gzip":           {gzipped(t, zeros(limit+1)), "", "", "gzip", want(limit + 1)},
		"bomb":           {gzipped(t, zeros(limit*64)), "", "gzip", "", want(limit + 1)},
		"two members":    {append(gzipped(t, zeros(limit)), gzipped(t, "0")...), "", "", "", want(limit + 1)},
		"deflate":        {zlibbed(t, zeros(limit*4)), "", "deflate", "", want(limit + 1)},
		"base64 itself":  {[]byte(b64), "", "", "base64", want(len(b64))},
		"form itself":    {[]byte("data=" + b64), formType, "", "", want(len(b64) + 5)},
		"gzip in base64": {[]byte(base64.StdEncoding.EncodeToString(gzipped(t, zeros(limit*64)))), "", "", "base64", want(limit + 1)},
	} {
		for _, buf := range [][]byte{nil, make([]byte, 0, limit*2)} {
			got, err := Body(c.body, c.contentType, c.encoding, c.compression, limit, buf, nil)
			if got != nil || err == nil || err.Status != 413 || err.Detail != c.detail {
				t.Errorf("%s: %d bytes, %+v", name, len(got), err)
			}
		}
	}
	for name, body := range map[string][]byte{"plain": []byte(zeros(limit)), "gzip": gzipped(t, zeros(limit))} {
		if got, err := Body(body, "", "", "", limit, nil, nil); err != nil || len(got) != limit {
			t.Errorf("%s exactly at the limit: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestFlags_13_2_BodyLimitDefaults(t *testing.T) {
	if got, err := Body(make([]byte, 10485760), "", "", "", 0, nil, nil); err != nil || len(got) != 10485760 {
		t.Errorf("10 MiB: %v", err)
	}
	if _, err := Body(make([]byte, 10485761), "", "", "", 0, nil, nil); err == nil {
		t.Error("one byte more is accepted")
	}
}

func FuzzUnpack(f *testing.F) {
	gz := gzipped(f, smallBody)
	for _, body := range [][]byte{[]byte(smallBody), gz, gz[:20], zlibbed(f, smallBody), []byte(lzSmallBody), []byte("data=e30&ip=0"), nil} {
		for _, c := range []string{"", "gzip", "base64", "lz64", "x"} {
			f.Add(body, "", "", c)
			f.Add(body, formType, "", c)
			f.Add(body, "text/plain; x", "deflate, gzip", c)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, contentType, encoding, compression string) {
		const limit = 1 << 15
		before := bytes.Clone(raw)
		buf := make([]byte, 0, 1<<10)
		out, err := Body(raw, contentType, encoding, compression, limit, buf, nil)
		if len(out) > limit {
			t.Fatalf("%d bytes", len(out))
		}
		if err != nil && (out != nil || err.Detail == "" || err.Status != 400 && err.Status != 413) {
			t.Fatalf("%+v", err)
		}
		if !bytes.Equal(raw, before) {
			t.Fatal("raw was overwritten")
		}
		again, err2 := Body(raw, contentType, encoding, compression, limit, nil, nil)
		if !bytes.Equal(out, again) || (err == nil) != (err2 == nil) {
			t.Fatal("buf changes the answer")
		}
	})
}

func BenchmarkUnpackGzip(b *testing.B) {
	raw, buf := gzipped(b, fiveProperties), make([]byte, 0, 4096)
	b.ReportAllocs()
	b.SetBytes(int64(len(fiveProperties)))
	for b.Loop() {
		if _, err := Body(raw, "text/plain", "", "gzip-js", 0, buf, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnpackPlain(b *testing.B) {
	raw := []byte(fiveProperties)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Body(raw, "application/json", "", "", 0, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// fiveProperties is the request of a server SDK for a subject with five properties.
const fiveProperties = `{"api_key":"phc_testtoken0000000000000000000000000000000000","distinct_id":"user_1","groups":{"company":"acme"},` +
	`"person_properties":{"email":"ada@example.com","plan":"enterprise","age":36,"signed_up":"2026-01-01T10:00:00Z","beta":true},` +
	`"group_properties":{},"geoip_disable":true}`
