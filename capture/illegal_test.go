package capture

import (
	"strings"
	"testing"
)

// TestCapture_10_4_IllegalIDs has every value of the table of §10.4, and similar values that
// are legal.
func TestCapture_10_4_IllegalIDs(t *testing.T) {
	anyCase := []string{"anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email", "undefined", "true", "false", "$posthog_cookieless"}
	exact := []string{"[object Object]", "NaN", "None", "none", "null", "0", "undefined"}
	illegal := []string{"", " ", "\t\n", "a\x00b", "\x00", strings.Repeat("x", 401), strings.Repeat("é", 401), "Not_Authenticated", "'GUEST'"}
	for _, id := range anyCase {
		illegal = append(illegal, id, strings.ToUpper(id), strings.ToUpper(id[:1])+id[1:], `"`+id+`"`, "'"+strings.ToUpper(id)+"'")
	}
	for _, id := range exact {
		illegal = append(illegal, id, `"`+id+`"`, "'"+id+"'")
	}
	for _, id := range illegal {
		if isLegalID(id) {
			t.Errorf("%.40q is legal", id)
		}
	}
	legal := []string{
		" anonymous", "anonymous ", "anonymous1", "NULL", "nan", "NONE", "[Object object]", "00", `'anonymous"`, `"anonymous`, `''anonymous''`,
		"u", "'", `"`, "''", "\u0130d", "\xff", strings.Repeat("x", 400), strings.Repeat("é", 400), "user@example.org",
		`"` + strings.Repeat("y", 31) + `"`, strings.Repeat("z", 32), strings.Repeat("Z", 33),
	}
	for _, id := range legal {
		if !isLegalID(id) {
			t.Errorf("%.40q is illegal", id)
		}
	}
}

func BenchmarkPlan_LegalID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		isLegalID("0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f")
	}
}
