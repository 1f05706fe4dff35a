package errortracking

import (
	"strings"
	"testing"
)

// Decision 24: the pairs of each row are exceptions of the same issue, or of two issues.
func TestDecision24_Fingerprint(t *testing.T) {
	const frame = `{"filename":"a.js","function":"f","lineno":1,"in_app":true}`
	one := func(rest string) string { return `{"$exception_list":[{"type":"E","value":"m"` + rest + `}]}` }
	framed := func(frames string) string { return one(`,"stacktrace":{"type":"raw","frames":[` + frames + `]}`) }
	tests := []struct {
		name, a, b string
		same       bool
	}{
		{"the line", framed(frame), framed(strings.Replace(frame, "1", "2", 1)), true},
		{"the message, with frames", framed(frame), strings.Replace(framed(frame), `"m"`, `"n"`, 1), true},
		{"the message, without frames", one(""), strings.Replace(one(""), `"m"`, `"n"`, 1), false},
		{"the type", framed(frame), strings.Replace(framed(frame), `"E"`, `"F"`, 1), false},
		{"the file", framed(frame), framed(strings.Replace(frame, "a.js", "b.js", 1)), false},
		{"the function", framed(frame), framed(strings.Replace(frame, `"f"`, `"g"`, 1)), false},
		{"frames of libraries", framed(frame), framed(frame + `,{"filename":"lib.js","function":"x","in_app":false}`), true},
		{"only frames of libraries", framed(`{"filename":"x","function":"y","in_app":false}`), one(""), true},
		{"in_app as a text", framed(strings.Replace(frame, "true", `"true"`, 1)), one(""), true},
		{"where texts end", framed(`{"filename":"ab","function":"c","in_app":true}`), framed(`{"filename":"a","function":"bc","in_app":true}`), false},
		{"what it came from", one(""), `{"$exception_list":[{"type":"E","value":"m"},{"type":"G","value":"n"}]}`, false},
		{"an empty fingerprint", `{"$exception_fingerprint":"",` + one("")[1:], one(""), true},
		{"an old SDK", `{"$exception_type":"E","$exception_message":"m"}`, one(""), true},
	}
	for _, test := range tests {
		a, b := readException(test.a).fingerprint(), readException(test.b).fingerprint()
		if (a == b) != test.same {
			t.Errorf("%s: %s and %s", test.name, a, b)
		}
		if len(a) != 64 {
			t.Errorf("%s: %s is no hash", test.name, a)
		}
	}
}

func TestDecision24_ClientsFingerprint(t *testing.T) {
	long := strings.Repeat("ä", maxFingerprint+1)
	for clientValue, want := range map[string]string{`"mine"`: "mine", `17`: "17", `"` + long[2:] + `"`: long[2:]} {
		if got := readException(`{"$exception_fingerprint":` + clientValue + `}`).fingerprint(); got != want {
			t.Errorf("%s: %s", clientValue, got)
		}
	}
	hashed := readException(`{"$exception_fingerprint":"` + long + `"}`).fingerprint()
	other := readException(`{"$exception_fingerprint":"` + long + `x"}`).fingerprint()
	if len(hashed) != 64 || hashed == other {
		t.Error(hashed, other)
	}
}
