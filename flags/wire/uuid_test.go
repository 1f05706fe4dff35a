package wire

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

func TestParseUUID(t *testing.T) {
	var file struct{ Texts []struct{ Text, UUID string } }
	text, err := os.ReadFile("../../testdata/capture/uuids.json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Texts {
		got, ok := ParseUUID(c.Text)
		if ok != (c.UUID != "") || ok && got.String() != c.UUID || !ok && !got.IsZero() {
			t.Errorf("%q is %s (%v), want %q", c.Text, got, ok, c.UUID)
		}
	}
	text, err = json.Marshal(UUID{0: 0x12, 15: 0xef})
	if want := `"12000000-0000-0000-0000-0000000000ef"`; err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
}

// TestUUID7 checks the bits of RFC 9562, section 5.7.
func TestUUID7(t *testing.T) {
	at := time.UnixMilli(0x017f22e279b0) // the sample of RFC 9562, appendix A.6
	random := [10]byte{0xfc, 0xc3, 0xd8, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f}
	if got, want := UUID7(at, random).String(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := UUID7(at, [10]byte{}).String(), "017f22e2-79b0-7000-8000-000000000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNewUUID7(t *testing.T) {
	at := time.UnixMilli(1700000000123)
	if u := NewUUID7(at); !u.Time().Equal(at) || u == NewUUID7(at) {
		t.Errorf("%s at %v", u, u.Time())
	}
}
