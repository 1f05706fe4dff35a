package browsertest

import "testing"

// J15 (console.md §1.2, §2.3, §3.9): data that the intake rejected, with the reason in words. An
// identify event without a person is dropped (capture.md §9.1), a $group_set that is not an object
// is ignored (§4.5), and an SDK's own warning is displayed unchanged.
func TestWarnings(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/warnings")
	p.node("heading", "Nothing was dropped")
	p.accessible()
	anonymous := map[string]any{"event": "$identify", "distinct_id": "ana", "properties": map[string]any{"$process_person_profile": false}}
	s.capture(
		anonymous, anonymous,
		map[string]any{"event": "$groupidentify", "distinct_id": "ben", "properties": map[string]any{"$group_type": "company", "$group_key": "acme", "$group_set": "pro"}},
		map[string]any{"event": "$$client_ingestion_warning", "distinct_id": "cleo", "properties": map[string]any{"$$client_ingestion_warning_message": "<i>too fast</i>"}},
	)
	var got struct{ Results []any }
	eventually(t, "three warnings", func() bool {
		s.api("GET", "/api/projects/1/ingestion_warnings/", nil, &got)
		return len(got.Results) == 3
	})
	p.visit("p/1/warnings")
	for _, head := range []string{"Type", "What happened", "Count", "Last"} {
		p.node("table", "Warnings", "columnheader", head)
	}
	p.node("table", "Warnings", "cell", "Dropped: this event needs a person profile, but $process_person_profile is false. by ana")
	p.node("table", "Warnings", "cell", "2")
	p.node("table", "Warnings", "cell", "Reported by the SDK: <i>too fast</i> by cleo")
	p.accessible()
	p.choose("invalid_group_set", "combobox", "Type")
	p.waitRemoved("cell", "2")
	p.node("table", "Warnings", "cell", "invalid_group_set")
	p.visit("p/1/warnings?type=event_too_large")
	p.node("heading", "No warnings of this type")
	p.accessible()
	p.click("button", "Clear filters")
	p.click("table", "Warnings", "link", "ben")
	p.node("table", "Events", "cell", "$groupidentify")
}
