package capture

import "testing"

// The ID of a definition is a UUID of version 5 that never changes (spec/clients.md §10). The
// expected values are the results of Python's uuid.uuid5 for the namespace and
// "project:kind:group:name".
func TestDefinitionID(t *testing.T) {
	for want, s := range map[string]SeenName{
		"844149d7-f545-5499-b73a-73c55c70485c": {ProjectID: 1, Kind: SeenEvent, Name: "order placed"},
		"8d4aa52c-f240-534d-9e97-355149be507a": {ProjectID: 7, Kind: SeenGroupProperty, Group: 2, Name: "größe"},
	} {
		if got := s.DefinitionID().String(); got != want {
			t.Errorf("%+v has the id %s, want %s", s, got, want)
		}
	}
}
