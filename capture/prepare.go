package capture

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// maxEventName is the length to which event names are truncated, in characters (§3.7).
	maxEventName = 200
	// maxWarningText is the length to which the text of a client's warning is truncated, in
	// characters.
	maxWarningText = 200
	// minHistoricalAge is the minimum age of an event of a migration (§13.1, decision 16).
	minHistoricalAge = 48 * time.Hour
	// maxUUIDDrift is the greatest difference between the time in an event's uuid and the
	// event's time without a warning (§4.5).
	maxUUIDDrift = 72 * time.Hour
)

// preparer converts the items of one submission to events. It must not be used concurrently.
type preparer struct {
	project        *Project
	ip             netip.Addr // the client's address, zero if unknown
	now            time.Time  // when the request arrived; UTC, microseconds
	sentAt         time.Time  // zero if unknown
	historical, v1 bool
	locator        Locator         // nil if addresses are not located
	random         func() [10]byte // for the uuids of events that have none
	seen           *seenNames      // nil if names are not recorded
	// buf contains the stored properties of the events. Events are substrings of it, so it
	// must only be appended to.
	buf []byte

	// The following fields are set when they are needed, and reused.
	ipQuoted, sentAtQuoted string
	props                  properties
	geo                    [len(geoKeys)]string
	copied                 copiedProperties
	scratch                []Member
	reported               map[seenKey]bool
}

// eventRule is the special handling of events with a certain name.
type eventRule struct {
	kind eventKind
	// drop is the reason if such events are never stored.
	drop DropReason
	// merges reports whether the event has two ids to merge, which must be strings (§10.2).
	merges bool
}

// eventRules are the names of events with special handling (§9.3, §12.7).
var eventRules = map[string]eventRule{
	"$identify":                  {kind: identifyEvent, merges: true},
	"$create_alias":              {kind: aliasEvent, merges: true},
	"$merge_dangerously":         {kind: mergeDangerouslyEvent, merges: true},
	"$set":                       {kind: setPropertiesEvent},
	"$groupidentify":             {kind: groupIdentifyEvent},
	"$group_identify":            {kind: groupIdentifyEvent},
	"$exception":                 {kind: untouchingEvent},
	"$$heatmap":                  {drop: heatmapNotStored},
	"$performance_event":         {drop: performanceEvent},
	"$snapshot":                  {drop: snapshotWrongEndpoint},
	"$$client_ingestion_warning": {drop: clientIngestionWarning},
}

// hasCookielessFault reports whether an item has a $cookieless_mode that is not a boolean.
// The whole request is then rejected (§13.7, §18.3).
func hasCookielessFault(it *Item) bool {
	switch itemProperty(it, slotNames[slotCookieless]) {
	case "", "true", "false":
		return false
	}
	return true
}

// prepare appends the event of an item to out.Events, or returns the reason to drop it.
// Warnings about events that are stored, and names that are new, are also added to out.
//
// The caller must add a warning for each reason that prepare returns, except
// clientIngestionWarning: prepare adds that warning itself, with the client's text.
func (p *preparer) prepare(it *Item, out *Batch) DropReason {
	rule := eventRules[it.Name]
	name, reason := p.name(it, rule)
	if reason != NotDropped {
		return reason
	}
	p.props.load(it)
	if rule.drop == clientIngestionWarning {
		p.clientWarning(it, out)
	}
	if rule.drop != NotDropped {
		return rule.drop
	}
	if it.DistinctID == "" {
		return missingDistinctID
	}
	if p.props.isTrue(slotCookieless) || it.DistinctID == wire.CookielessID {
		return cookielessOff
	}
	at, understood := eventTime(it, p.now, p.sentAt, p.props.isTrue(slotIgnoreSentAt))
	if !understood && p.v1 {
		return invalidTimestamp
	}
	if reason := p.check(rule); reason != NotDropped {
		return reason
	}

	out.Events = append(out.Events, Event{})
	e := &out.Events[len(out.Events)-1]
	e.Name, e.DistinctID, e.Kind = name, it.DistinctID, rule.kind
	e.UUID, e.Timestamp, e.ReceivedAt = it.UUID, at.UTC().Truncate(time.Microsecond), p.now
	if e.UUID.IsZero() {
		e.UUID = wire.UUID7(e.Timestamp, p.random())
	}
	e.Historical = p.historical && p.now.Sub(e.Timestamp) >= minHistoricalAge
	e.Personless = p.props.value(slotProcessPerson) == "false" || p.v1 && IsImpersonalV1(e.DistinctID)
	p.warn(e, it, understood, out)
	if rule.kind == untouchingEvent {
		p.exception(e, out)
	}
	p.fill(e, it)
	p.addSeenNames(e, out)
	return NotDropped
}

// name returns an item's name, truncated to the length that is stored.
func (p *preparer) name(it *Item, rule eventRule) (string, DropReason) {
	switch {
	case rule.kind != ordinaryEvent || rule.drop != NotDropped:
		return it.Name, NotDropped
	case strings.TrimSpace(it.Name) == "":
		return "", MissingEventName
	case p.v1 && isLonger(it.Name, maxEventName):
		return "", eventNameTooLong
	}
	return cut(it.Name, maxEventName), NotDropped
}

// check returns the reason to drop an event whose properties contradict its name (§9.1,
// §10.2, §11.3).
func (p *preparer) check(rule eventRule) DropReason {
	switch {
	case rule.merges && !isTextOrNull(p.props.value(slotAnonDistinctID)):
		return invalidAnonDistinctID
	case rule.merges && !isTextOrNull(p.props.value(slotAlias)):
		return invalidAlias
	case rule.merges && p.props.value(slotProcessPerson) == "false":
		return personProfileNeeded
	case rule.kind == groupIdentifyEvent && isLonger(p.groupText(slotGroupKey), maxGroupName):
		return groupKeyTooLong
	}
	return NotDropped
}

func isTextOrNull(value string) bool {
	return value == "" || value[0] == '"' || value == "null"
}

// warn adds warnings about properties of an event that is stored nevertheless.
func (p *preparer) warn(e *Event, it *Item, understood bool, out *Batch) {
	if !understood {
		p.addWarning(e, WarnTimestamp, out)
	}
	if p.historical && !e.Historical {
		p.addWarning(e, warnHistoricalTooYoung, out)
	}
	// Imports assign new uuids to old events.
	if !p.historical && it.UUID[6]>>4 == 7 {
		if drift := it.UUID.Time().Sub(e.Timestamp); drift > maxUUIDDrift || drift < -maxUUIDDrift {
			p.addWarning(e, warnUUIDTime, out)
		}
	}
	switch p.props.value(slotProcessPerson) {
	case "", "true", "false":
	default:
		p.addWarning(e, warnProcessPersonProfile, out)
	}
	if e.Kind == groupIdentifyEvent {
		if set := p.props.value(slotGroupSet); set != "" && set != "null" && !isObject(set) {
			p.addWarning(e, WarnGroupSet, out)
		}
	}
}

// addWarning adds a warning about an event that is stored.
func (p *preparer) addWarning(e *Event, kind WarningType, out *Batch) {
	out.warn(Warning{Type: kind, DistinctID: e.DistinctID, EventUUID: e.UUID, At: p.now})
}

// clientWarning adds a warning with the text that the client sent (§4.5).
func (p *preparer) clientWarning(it *Item, out *Batch) {
	detail, _ := text(p.props.value(slotWarningText))
	out.warn(Warning{
		Type: WarningType(clientIngestionWarning), DistinctID: it.DistinctID, EventUUID: it.UUID,
		Detail: cut(detail, maxWarningText), At: p.now,
	})
}

// fill sets the remaining fields of an event that is stored, in the order of §8.1.
func (p *preparer) fill(e *Event, it *Item) {
	props := &p.props
	p.reserve(it)
	p.normalise()
	geo := p.locate()
	if p.project.AnonymizeIPs {
		props.remove(slotIP)
	}
	e.ElementsChain = p.takeElementsChain()

	keepsSet := !e.Personless && e.Kind != groupIdentifyEvent
	if !keepsSet {
		props.remove(slotSet)
		props.remove(slotSetOnce)
		props.remove(slotUnset)
	}
	if !e.Personless {
		props.remove(slotProcessPerson)
		p.fillPerson(e, it, geo, keepsSet)
		e.Groups = p.groups()
	}
	switch e.Kind {
	case identifyEvent:
		if v := props.value(slotAnonDistinctID); v != "" {
			e.HasOther = true
			if s, ok := text(v); ok {
				e.Other = s
			} else {
				e.Other = v // null, with which no id can be merged (§10.2)
			}
		}
	case aliasEvent, mergeDangerouslyEvent:
		e.Other, _ = text(props.value(slotAlias))
		e.HasOther = e.Other != ""
	case groupIdentifyEvent:
		e.Group = p.groupUpdate()
	case ordinaryEvent:
		if slices.Contains(exposures, e.Name) {
			e.Flag = p.flagCall()
		}
	}

	start := len(p.buf)
	p.buf = Object(props.members).AppendJSON(p.buf)
	e.Properties = p.cut(start)
}

// fillPerson sets the changes that an event makes to its person (§9.4, §9.5, §12.1, §12.4).
// If keepsSet is false, the $set and $set_once of the client are ignored, and only the copied
// properties are used.
func (p *preparer) fillPerson(e *Event, it *Item, geo *[len(geoKeys)]string, keepsSet bool) {
	p.copied.gather(&p.props, geo)
	var set, once []Member
	if keepsSet {
		var seenAt []Member
		if e.Name == "survey shown" {
			seenAt = []Member{{"$survey_last_seen_date", e.Timestamp.Format(timeForm)}}
		}
		p.scratch = p.mergeClient(p.scratch[:0], slotSet, seenAt, it.Set)
		n := len(p.scratch)
		p.scratch = p.mergeClient(p.scratch, slotSetOnce, nil, it.SetOnce)
		set, once = NewObject(p.scratch[:n]), NewObject(p.scratch[n:])
		e.Unset = unsetKeys(p.props.value(slotUnset))
	}
	// Both lists use one allocation. The capacity of the first ends where the second begins.
	size := len(set) + len(once) + 2*p.copied.n
	if size == 0 {
		return
	}
	both := p.copied.merge(make([]Member, 0, size), setKeys, set)
	n := len(both)
	both = p.copied.merge(both, setOnceKeys, once)
	e.Set, e.SetOnce = Object(both[:n:n]), Object(both[n:])
}

// mergeClient appends the members that the client sent for the person. Those at the top level
// of the event are last, so that they take precedence (§8.2). The result also becomes the
// stored property. added are members with the lowest precedence.
func (p *preparer) mergeClient(dst []Member, s slot, added, top []Member) []Member {
	nested := p.props.value(s)
	n := len(dst)
	dst = append(dst, added...)
	dst = appendMembers(dst, nested)
	dst = append(dst, top...)
	if len(added) > 0 || len(top) > 0 {
		merged := NewObject(dst[n:])
		dst = dst[:n+len(merged)]
		start := len(p.buf)
		p.buf = merged.AppendJSON(p.buf)
		p.props.put(s, p.cut(start))
	}
	return dst
}

// unsetKeys returns the keys of an $unset, which is a list of keys or an object (§9.4).
func unsetKeys(value string) (keys []string) {
	eachElement(value, func(key string) {
		if s, ok := text(key); ok {
			keys = append(keys, s)
		}
	})
	for _, m := range appendMembers(nil, value) {
		keys = append(keys, m.Key)
	}
	return keys
}

// These are the sizes of the buffer for stored properties, in bytes: the space that an event
// needs in addition to its own text, and the greatest chunk that is allocated in advance.
const (
	slack    = 256
	maxChunk = 256 << 10
)

// reserve makes room for one event. A single event is allocated what it needs; in a batch
// each chunk is twice as large as the previous one.
func (p *preparer) reserve(it *Item) {
	need := it.Size + slack
	if cap(p.buf)-len(p.buf) < need {
		p.buf = make([]byte, 0, max(need, min(2*cap(p.buf), maxChunk)))
	}
}

// cut returns the bytes of buf from start on as a string, without a copy. This is safe
// because these bytes are never modified again.
func (p *preparer) cut(start int) string { return stringOf(p.buf[start:]) }
