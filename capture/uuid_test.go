package capture

import "testing"

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
