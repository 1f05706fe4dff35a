package capture

import "testing"

// The token at the beginning of a body is the token of the whole body (§3.6, §4.4).
func TestCapture_4_4_PeekToken(t *testing.T) {
	for name, c := range map[string]struct {
		text, token string
		refused     bool
	}{
		"a key before the batch":          {`{"api_key":" phc_x ","batch":[{"event":"e"`, "phc_x", false},
		"a key after the batch":           {`{"batch":[{"event":"e","api_key":"phc_y"}],"api_`, "", false},
		"a key that is cut off":           {`{"api_key":"phc_`, "", false},
		"a key that is no text":           {`{"api_key":5,"batch":[`, notText, false},
		"a name that another wins over":   {`{"token":"phc_x","batch":[`, "", false},
		"nothing yet":                     {`{"x":{"api_key":"phc_x"},"y":[`, "", false},
		"a batch of numbers":              {`{"api_key":"phc_x","batch":[ 1,`, "phc_x", true},
		"a batch that is empty":           {`{"batch":[]`, "", false},
		"a batch that is none":            {`{"batch":5`, "", false},
		"a list of events":                {`[{"event":"e","properties":{"token":"phc_x"}},{"ev`, "phc_x", false},
		"a list, of which the token last": {"\ufeff [{\"event\":\"e\",\"properties\":{\"token\":\"phc_y\"},\"api_key\":\"phc_x\"},", "phc_x", false},
		"a list with a long event":        {`[{"api_key":"phc_x","event":"e`, "phc_x", false},
		"a list of lists":                 {`[[`, "", true},
		"a list of texts":                 {`["`, "", true},
		"a list that is cut off":          {`[`, "", false},
		"no JSON":                         {`nonsense`, "", false},
	} {
		token, err := PeekToken(c.text)
		if token != c.token && err == nil || (err != nil) != c.refused {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
}
