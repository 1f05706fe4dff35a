package flags_test

import "testing"

// TestFlags_Decisions runs the cases of testdata/decisions. The name of a case starts with
// the clause that it proves.
func TestFlags_Decisions(t *testing.T) {
	cases, files := readCases(t, "decisions")
	for i, c := range cases {
		if c.Clause == "" || c.Row != 0 || c.HTTP != nil {
			t.Errorf("%s: %q is of no clause", files[i], c.Name)
		}
		t.Run(c.Clause+" "+c.Name, c.run)
	}
}
