package capture

import "strings"

// resourcesByName are the events that are counted apart; those that begin with
// aiPrefix come to them (§13.4).
var resourcesByName = map[string]Resource{
	"$exception":       ResourceExceptions,
	"survey sent":      ResourceSurveys,
	"survey shown":     ResourceSurveys,
	"survey dismissed": ResourceSurveys,
}

const aiPrefix = "$ai_"

// resourceOf is what an event is counted as (§13.4). The surveys of product
// tours are ordinary events.
func resourceOf(it *Item) Resource {
	if strings.HasPrefix(it.Name, aiPrefix) {
		return ResourceLLMEvents
	}
	r, ok := resourcesByName[it.Name]
	if !ok {
		return ResourceEvents
	}
	if r == ResourceSurveys {
		if tour := itemProperty(it, "$product_tour_id"); tour != "" && tour != "null" {
			return ResourceEvents
		}
	}
	return r
}

// overQuotaReason says why an event is dropped when its resource is over its limit or
// paused.
func overQuotaReason(r Resource) DropReason {
	switch r {
	case ResourceExceptions:
		return exceptionsOverQuota
	case ResourceSurveys:
		return surveysOverQuota
	case ResourceLLMEvents:
		return llmEventsOverQuota
	case ResourceRecordings:
		return recordingNotStored
	}
	return EventsOverQuota
}
