package capture

import (
	"encoding/json"
	"testing"
	"time"
)

func TestCapture_17_2_PersonIDs(t *testing.T) {
	var file struct {
		Persons []struct {
			Project    int64
			DistinctID string `json:"distinct_id"`
			UUID       string
		}
	}
	readData(t, "uuids.json", &file)
	for _, c := range file.Persons {
		if got := PersonID(c.Project, c.DistinctID).String(); got != c.UUID {
			t.Errorf("project %d, distinct id %q: %s, want %s", c.Project, c.DistinctID, got, c.UUID)
		}
	}
}

func TestParseUUID(t *testing.T) {
	var file struct{ Texts []struct{ Text, UUID string } }
	readData(t, "uuids.json", &file)
	for _, c := range file.Texts {
		got, ok := ParseUUID(c.Text)
		if ok != (c.UUID != "") || ok && got.String() != c.UUID || !ok && !got.IsZero() {
			t.Errorf("%q is %s (%v), want %q", c.Text, got, ok, c.UUID)
		}
	}
	text, err := json.Marshal(UUID{0: 0x12, 15: 0xef})
	if want := `"12000000-0000-0000-0000-0000000000ef"`; err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
}

// TestCapture_3_2_UUIDv7 checks the bits of RFC 9562, section 5.7.
func TestCapture_3_2_UUIDv7(t *testing.T) {
	at := time.UnixMilli(0x017f22e279b0) // the sample of its appendix A.6
	random := [10]byte{0xfc, 0xc3, 0xd8, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f}
	if got, want := newUUID7(at, random).String(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := newUUID7(at, [10]byte{}).String(), "017f22e2-79b0-7000-8000-000000000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
