package capture

import "strings"

// resourcesByName are the events with a limit of their own, in addition to those that begin
// with aiPrefix (§13.4).
var resourcesByName = map[string]Resource{
	"$exception":       ResourceExceptions,
	"survey sent":      ResourceSurveys,
	"survey shown":     ResourceSurveys,
	"survey dismissed": ResourceSurveys,
}

const aiPrefix = "$ai_"

// resourceOf returns the resource that an event is counted as (§13.4). Survey events of
// product tours are counted as ordinary events.
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

// overQuotaReason returns the reason for dropping events of a resource that is over its limit
// or paused.
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
