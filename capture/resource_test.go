package capture

import "testing"

func TestCapture_13_4_Resources(t *testing.T) {
	for _, c := range []struct {
		name, properties string
		want             Resource
		over             DropReason
	}{
		{"$exception", `{}`, ResourceExceptions, exceptionsOverQuota},
		{"survey sent", `{}`, ResourceSurveys, surveysOverQuota},
		{"survey shown", `{"$product_tour_id":null}`, ResourceSurveys, surveysOverQuota},
		{"survey dismissed", `{"$product_tour_id":"t"}`, ResourceEvents, EventsOverQuota},
		{"survey abandoned", `{}`, ResourceEvents, EventsOverQuota},
		{"$ai_generation", `{}`, ResourceLLMEvents, llmEventsOverQuota},
		{"$ai", `{}`, ResourceEvents, EventsOverQuota},
		{"$pageview", `{}`, ResourceEvents, EventsOverQuota},
	} {
		got := resourceOf(&Item{Name: c.name, Properties: appendMembers(nil, c.properties)})
		if got != c.want || overQuotaReason(got) != c.over {
			t.Errorf("%s %s: %s, %s", c.name, c.properties, got, overQuotaReason(got))
		}
	}
	tour := Item{Name: "survey sent", Overrides: []Member{{"$product_tour_id", `"t"`}}}
	if got := resourceOf(&tour); got != ResourceEvents {
		t.Errorf("a tour by protocol v1: %s", got)
	}
	if got := overQuotaReason(ResourceRecordings); got != recordingNotStored {
		t.Errorf("recordings: %s", got)
	}
}
