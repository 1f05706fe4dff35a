package natsstream

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// Every message is parsed or returns an error.
func FuzzParseBody(f *testing.F) {
	one := capture.AppendBatch(nil, &capture.Batch{ProjectID: 1, Events: []capture.Event{{Name: "e", Properties: "{}"}}})
	f.Add(body([][]byte{one, one}))
	f.Add([]byte{bodyVersion, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseBody(data)
		if err != nil {
			return
		}
		var again [][]byte
		for _, b := range list {
			again = append(again, capture.AppendBatch(nil, b))
		}
		got, err := parseBody(body(again))
		if diff := cmp.Diff(list, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
}

func TestMessageName(t *testing.T) {
	name := messageName{ID: capture.UUID{1, 15: 2}, Part: 1, Parts: 3, Attempt: "dead0"}
	if got, ok := parseName(name.String()); !ok || got != name {
		t.Errorf("%+v, want %+v", got, name)
	}
	for _, bad := range []string{"", "x.0.1.0", name.ID.String() + ".1.1.0", name.ID.String() + ".-1.1.0", name.ID.String() + ".0.1"} {
		if got, ok := parseName(bad); ok {
			t.Errorf("%q is taken for %+v", bad, got)
		}
	}
}
