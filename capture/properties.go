package capture

import (
	"cmp"
	"strings"
)

// slot numbers the properties with a special meaning, so that one pass over an event finds
// all of them. It is 0 for all other properties.
type slot uint8

const (
	noSlot slot = iota
	slotSet
	slotSetOnce
	slotUnset
	slotProcessPerson
	slotIP
	slotSentAt
	slotIgnoreSentAt
	slotVerified
	slotOSName
	slotIsServer
	slotSessionID
	slotElements
	slotElementsChain
	slotHeatmapData
	slotProductTours
	slotToursActivated
	slotOverrideFlags
	slotCookieless
	slotGeoIPDisable
	slotAnonDistinctID
	slotAlias
	slotGroups
	slotGroup0
	slotGroup1
	slotGroup2
	slotGroup3
	slotGroup4
	slotGroupType
	slotGroupKey
	slotGroupSet
	slotFlag
	slotFlagResponse
	slotWarningText

	slotCopied // the first element of copiedKeys
	slotGeo    = slotCopied + slot(len(copiedKeys))
	slotCount  = slotGeo + slot(len(geoKeys))

	// The first two elements of copiedKeys are also sent by servers about themselves, and are
	// then not copied to the person.
	slotOS        = slotCopied
	slotOSVersion = slotCopied + 1
)

// slotNames are the names of the properties, indexed by slot.
var slotNames = func() (names [slotCount]string) {
	for s, name := range map[slot]string{
		slotSet:            "$set",
		slotSetOnce:        "$set_once",
		slotUnset:          "$unset",
		slotProcessPerson:  "$process_person_profile",
		slotIP:             "$ip",
		slotSentAt:         "$sent_at",
		slotIgnoreSentAt:   "$ignore_sent_at",
		slotVerified:       "$verified",
		slotOSName:         "$os_name",
		slotIsServer:       "$is_server",
		slotSessionID:      "$session_id",
		slotElements:       "$elements",
		slotElementsChain:  "$elements_chain",
		slotHeatmapData:    "$heatmap_data",
		slotProductTours:   "ph_product_tours",
		slotToursActivated: "$product_tours_activated",
		slotOverrideFlags:  "$override_feature_flag_payloads",
		slotCookieless:     "$cookieless_mode",
		slotGeoIPDisable:   "$geoip_disable",
		slotAnonDistinctID: "$anon_distinct_id",
		slotAlias:          "alias",
		slotGroups:         "$groups",
		slotGroup0:         "$group_0",
		slotGroup1:         "$group_1",
		slotGroup2:         "$group_2",
		slotGroup3:         "$group_3",
		slotGroup4:         "$group_4",
		slotGroupType:      "$group_type",
		slotGroupKey:       "$group_key",
		slotGroupSet:       "$group_set",
		slotFlag:           "$feature_flag",
		slotFlagResponse:   "$feature_flag_response",
		slotWarningText:    "$$client_ingestion_warning_message",
	} {
		names[s] = name
	}
	copy(names[slotCopied:], copiedKeys[:])
	copy(names[slotGeo:], geoKeys[:])
	return names
}()

// slots is the inverse of slotNames.
var slots = func() map[string]slot {
	m := make(map[string]slot, slotCount)
	for s := noSlot + 1; s < slotCount; s++ {
		m[slotNames[s]] = s
	}
	return m
}()

// bloat are properties that are removed because they have no use in stored events (§8.2,
// §12.7).
var bloat = [...]slot{slotProductTours, slotToursActivated, slotOverrideFlags, slotHeatmapData}

// properties has the properties of one event while it is prepared. The zero value is ready to
// use, and load resets it for the next event.
type properties struct {
	// members are in the order of the body. A removed property has an empty value; this is
	// unambiguous because JSON text is never empty.
	members []Member
	at      [slotCount]int32 // 1 + index in members, 0 if absent
}

// load sets the properties of an item. Overrides take precedence.
func (p *properties) load(it *Item) {
	p.at = [slotCount]int32{}
	p.members = append(p.members[:0], it.Properties...)
	for i := range p.members {
		if s := slots[p.members[i].Key]; s != noSlot {
			p.at[s] = int32(i + 1)
		}
	}
	for _, m := range it.Overrides {
		if s := slots[m.Key]; s != noSlot {
			p.put(s, m.Value)
		} else if i := find(p.members, 0, nil, m.Key); i >= 0 {
			p.members[i].Value = m.Value
		} else {
			p.members = append(p.members, m)
		}
	}
}

// value returns a property's JSON text, or the empty string if it is absent.
func (p *properties) value(s slot) string {
	if i := p.at[s]; i != 0 {
		return p.members[i-1].Value
	}
	return ""
}

func (p *properties) isTrue(s slot) bool { return p.value(s) == "true" }

// put sets a property, in its place if it exists.
func (p *properties) put(s slot, value string) {
	if i := p.at[s]; i != 0 {
		p.members[i-1].Value = value
		return
	}
	p.members = append(p.members, Member{slotNames[s], value})
	p.at[s] = int32(len(p.members))
}

// remove removes a property by making its value empty.
func (p *properties) remove(s slot) {
	if i := p.at[s]; i != 0 {
		p.members[i-1].Value = ""
	}
}

// getByName returns the JSON text of a property without a slot, or the empty string if it is
// absent.
func (p *properties) getByName(name string) string { return valueOf(p.members, name) }

// valueOf returns the JSON text of a member, or the empty string if it is absent.
func valueOf(members []Member, key string) string {
	if i := find(members, 0, nil, key); i >= 0 {
		return members[i].Value
	}
	return ""
}

// setByName sets a property without a slot.
func (p *properties) setByName(name, value string) {
	if i := find(p.members, 0, nil, name); i >= 0 {
		p.members[i].Value = value
		return
	}
	p.members = append(p.members, Member{name, value})
}

// removeByName removes a property without a slot.
func (p *properties) removeByName(name string) {
	if i := find(p.members, 0, nil, name); i >= 0 {
		p.members[i].Value = ""
	}
}

// itemProperty returns the value of an item's property, or the empty string if it is absent.
func itemProperty(it *Item, key string) string {
	return cmp.Or(valueOf(it.Overrides, key), valueOf(it.Properties, key)) // JSON text is never empty
}

// isTruthy reports whether JavaScript converts a JSON value to true. An absent value is
// false.
func isTruthy(value string) bool {
	if value == "" {
		return false
	}
	switch value[0] {
	case 'f', 'n':
		return false
	case '"':
		return len(value) > 2
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		mantissa := value
		if i := strings.IndexAny(value, "eE"); i >= 0 {
			mantissa = value[:i]
		}
		return strings.ContainsAny(mantissa, "123456789")
	}
	return true
}

// isObject and isList report the type of a JSON value by its first character.
func isObject(value string) bool { return value != "" && value[0] == '{' }
func isList(value string) bool   { return value != "" && value[0] == '[' }

// asText returns the content of a JSON string, the empty string for null and absent values,
// and the JSON text of all other values.
func asText(value string) string {
	if s, ok := text(value); ok {
		return s
	}
	if value == "null" {
		return ""
	}
	return value
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// isLonger reports whether s has more than n characters.
func isLonger(s string, n int) bool { return len(s) > n && len(cut(s, n)) < len(s) }

// appendMembers appends the members of a JSON object. It appends no members if object is not
// valid.
func appendMembers(dst []Member, object string) []Member {
	if !isObject(object) {
		return dst
	}
	s := newScanner(object)
	out, ok := s.readMembers(dst)
	if !ok {
		return dst
	}
	return out
}

// eachElement calls each with the JSON text of each element of a list. Values that are not
// lists have no elements.
func eachElement(list string, each func(value string)) {
	if !isList(list) {
		return
	}
	s := newScanner(list)
	s.List(func() bool {
		value, ok := s.Raw()
		if ok {
			each(value)
		}
		return ok
	})
}
