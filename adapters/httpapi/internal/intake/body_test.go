package intake

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// zipped compresses a text with gzip.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// Bodies of §2.1 to §2.5: the query, base64, forms, gzip by its first bytes or by name, and base64
// in all of these. Package unpack proves lz64.
func TestReadCapture(t *testing.T) {
	t.Parallel()
	const text = `{"event":"a>b","token":"phc_x"}` // its base64 contains a plus
	plus := inBase64(text)
	if !strings.Contains(plus, "+") {
		t.Fatal(plus)
	}
	form := func(pairs ...string) string {
		var parts []string
		for i := 0; i < len(pairs); i += 2 {
			parts = append(parts, pairs[i]+"="+url.QueryEscape(pairs[i+1]))
		}
		return strings.Join(parts, "&")
	}
	const formType = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		query, kind, encoding, body string
		want                        string // the text, or a status with a code
	}{
		"base64":                        {"", "", "", plus, text},
		"base64, in gzip":               {"", "", "", zipped(plus), text},
		"gzip, in base64":               {"", "", "", inBase64(zipped(text)), text},
		"gzip without a hint":           {"", "text/plain", "", zipped(text), text},
		"gzip by the query":             {"compression=gzip-js", "", "", zipped(text), text},
		"gzip by both":                  {"compression=gzip", "", "gzip", zipped(text), text},
		"gzip by another name":          {"compression=foo", "", "", zipped(text), text},
		"gzip named lz64":               {"compression=lz64", "", "", zipped(text), text},
		"a query":                       {"data=" + url.QueryEscape(plus), "", "", "the body is not read", text},
		"a query that lost its plus":    {"data=" + plus, "", "", "", text},
		"a query of gzip":               {"data=" + url.QueryEscape(inBase64(zipped(text))) + "&compression=gzip", "", "", "", text},
		"a form":                        {"", formType, "", form("data", plus), text},
		"a form of text":                {"", formType, "", form("data", text), text},
		"a form that lost its plus":     {"", formType, "", "data=" + plus, text},
		"a form with a compression":     {"", formType, "", form("compression", "gzip-js", "data", inBase64(zipped(text))), text},
		"the query's name comes first":  {"compression=gzip", formType, "", form("compression", "lz64", "data", inBase64(zipped(text))), text},
		"a form with a time first":      {"", formType, "", form("_", "1", "data", plus), text},
		"a form without data":           {"", formType, "", form("ip", "1"), "400 no_data"},
		"nothing":                       {"", "", "", "", "400 no_data"},
		"an empty form":                 {"", formType, "", "data=", "400 no_data"},
		"gzip that is cut off":          {"", "", "", zipped(text)[:20], "400 "},
		"base64 named gzip, not packed": {"compression=gzip", "", "", "nonsense", "400 "},
	} {
		r := httptest.NewRequest("POST", "/e/?"+c.query, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Content-Encoding", c.encoding)
		if got := readAll(t, r, 1<<20); got != c.want && (!strings.HasSuffix(c.want, " ") || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := readAll(t, httptest.NewRequest("GET", "/e/", nil), 1<<20); got != "400 no_data" {
		t.Errorf("GET without data: %q", got)
	}
}

// readAll returns the decoded text of a request, or its problem.
func readAll(t *testing.T, r *http.Request, limit int64) string {
	t.Helper()
	s := &Service{Server: &frame.Server{}}
	w := httptest.NewRecorder()
	l := admission.NewBudget(8<<20, 1<<20).NewLease(w, r, s)
	defer l.Release()
	q := parseCaptureQuery(r.URL.RawQuery)
	text, err := s.readCapture(r, &q, l, limit)
	var p *problem.Problem
	switch {
	case errors.As(err, &p):
		return fmt.Sprintf("%d %s", p.Status, p.Code)
	case err != nil:
		t.Errorf("not a problem: %v", err)
	}
	return strings.Clone(text)
}

// A body may have limit bytes, and five times as many when it is unpacked (§4.6).
func TestReadCapture_Limits(t *testing.T) {
	t.Parallel()
	const limit = 1000
	for name, c := range map[string]struct{ body, want string }{
		"at the limit":             {"x" + strings.Repeat(" ", limit-1), ""},
		"one above":                {"x" + strings.Repeat(" ", limit), "413"},
		"unpacked, five times":     {zipped(strings.Repeat("!", 5*limit)), ""},
		"unpacked, one above":      {zipped(strings.Repeat("!", 5*limit+1)), "413"},
		"unpacked, many above":     {zipped(strings.Repeat("!", 900*limit)), "413"},
		"packed above the limit":   {strings.Repeat("\x1f\x8b\x08", limit), "413"},
		"several members together": {zipped(strings.Repeat("!", 3*limit)) + zipped(strings.Repeat("!", 3*limit)), "413"},
	} {
		got := readAll(t, httptest.NewRequest("POST", "/e/", strings.NewReader(c.body)), limit)
		if c.want == "" && (got == "" || strings.HasPrefix(got, "4")) || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.50q, want %q", name, got, c.want)
		}
	}
}
