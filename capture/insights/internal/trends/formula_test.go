package trends

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Formulas (§2.4.5): the usual precedence, ** is right-associative; expected values computed by
// hand.
func TestFormula(t *testing.T) {
	for text, want := range map[string]float64{
		"A": 6, "a+b": 10, "A-B*2": -2, "(A-B)*2": 4, "A/B": 1.5, "A/0": 0, "A%B": 2, "-A%B": 2, "A%-B": -2, "7%0": 0,
		"2**3**2": 512, "-2**2": -4, "2**-1": 0.5, "+A": 6, " A / ( B - 1 ) ": 2, ".5*A": 3,
	} {
		n, fault := document.Decode(json.RawMessage(wire.Quote(text)), "query")
		f := readFormula(n, text, "", 2)
		if *fault != nil {
			t.Errorf("%s: %v", text, *fault)
		} else if got := f.value([]float64{6, 4}); got != want {
			t.Errorf("%s: %g, want %g", text, got, want)
		}
	}
	for text, message := range map[string]string{"C": `"C"`, "sum(A)": `"sum"`, "A+": "too soon", "A B": `"B"`, "A&B": `"&"`, "(A": "parenthesis", "": "too soon", "1..2": "unexpected", strings.Repeat("A", 501): "500"} {
		n, fault := document.Decode(json.RawMessage(wire.Quote(text)), "query")
		if readFormula(n, text, "", 2); *fault == nil || !strings.Contains((*fault).Detail, message) {
			t.Errorf("%q: %v, want it to say %s", text, *fault, message)
		}
	}
}
