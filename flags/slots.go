package flags

import "time"

// locatedKeys are the seven properties that the location of an address sets (§8.3).
var locatedKeys = map[string]bool{
	"$geoip_city_name": true, "$geoip_country_name": true, "$geoip_country_code": true,
	"$geoip_continent_name": true, "$geoip_continent_code": true,
	"$geoip_postal_code": true, "$geoip_time_zone": true,
}

// initialOf maps each $initial_ property to the current property that replaces it if it is
// missing (§8.2).
var initialOf = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"app_build", "app_name", "app_namespace", "app_version", "browser", "browser_version", "device_type",
		"current_url", "pathname", "os", "os_version", "referring_domain", "referrer", "screen_height",
		"screen_width", "viewport_height", "viewport_width", "raw_user_agent",
	} {
		m["$initial_"+name] = "$" + name
	}
	for _, name := range []string{
		"utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "gclid", "gad_source", "gclsrc",
		"dclid", "gbraid", "wbraid", "fbclid", "msclkid", "twclid", "li_fat_id", "mc_cid", "igshid", "ttclid",
		"rdt_cid", "epik", "qclid", "sccid", "irclid", "_kx",
	} {
		m["$initial_"+name] = name
	}
	return m
}()

// slotKind is the kind of fact in a slot.
type slotKind uint8

const (
	slotPerson slotKind = iota
	slotGroup
	slotCreatedAt
)

// slot describes a fact that some requirement of a set uses. An evaluation caches its value.
type slot struct {
	kind      slotKind
	located   bool   // one of the seven $geoip_ names
	distinct  bool   // the key distinct_id
	initial   string // key of the replacement if the property is missing, or ""
	key       string
	groupType string // name of the group type of slotGroup, "" if the index has no type
	undecided *Undecided
	uses      int32 // number of requirements of flags and cohorts that use it
}

// find returns the value of a slot for a subject: that of the first layer which has it (§8.1,
// §7).
func (s *slot) find(sub *Subject, distinct string) (value any, state factState, source ValueSource) {
	switch s.kind {
	case slotGroup:
		return s.findGroup(sub)
	case slotCreatedAt:
		if s.key != "created_at" { // the only supported key (§1.4)
			return nil, factMissing, SourceNone
		}
		if st := sub.Stored; st != nil && st.Failure == NoReason && !st.CreatedAt.IsZero() {
			return st.CreatedAt.UTC().Format(time.RFC3339Nano), factPresent, SourceStored
		}
		return nil, sub.absentState(), SourceNone
	}
	value, state, source = s.findPerson(sub, distinct, s.key)
	if state == factMissing && s.initial != "" {
		if v, st, _ := s.findPerson(sub, distinct, s.initial); st != factMissing {
			return v, st, SourceInitial
		}
	}
	return value, state, source
}

// findPerson looks up a property of the person, without replacements.
func (s *slot) findPerson(sub *Subject, distinct, key string) (any, factState, ValueSource) {
	value, inRequest := sub.Person[key]
	if inRequest && (value != nil || !s.located) {
		return value, factPresent, SourceRequest
	}
	if s.distinct {
		return distinct, factPresent, SourceIdentity
	}
	var stored any
	inStore := false
	if st := sub.Stored; st != nil {
		stored, inStore = st.Person[key]
	}
	if s.located {
		if located, ok := sub.Located[key]; ok {
			if sub.LocatedByPeer && inStore {
				return stored, factPresent, SourceStored
			}
			if !sub.LocatedByPeer || sub.absentState() == factMissing {
				return located, factPresent, SourceLocated
			}
			return nil, factUnknown, SourceNone
		}
		if inRequest { // null, without a location to replace it
			return nil, factPresent, SourceRequest
		}
	}
	if inStore {
		return stored, factPresent, SourceStored
	}
	return nil, sub.absentState(), SourceNone
}

// findGroup looks up a property of a group.
func (s *slot) findGroup(sub *Subject) (any, factState, ValueSource) {
	group := sub.Groups[s.groupType]
	if s.groupType == "" || group == "" {
		return nil, factMissing, SourceNone
	}
	if s.key == "$group_key" {
		return group, factPresent, SourceIdentity
	}
	if v, ok := sub.GroupProperties[s.groupType][s.key]; ok {
		return v, factPresent, SourceRequest
	}
	if st := sub.Stored; st != nil {
		if v, ok := st.Groups[s.groupType][s.key]; ok {
			return v, factPresent, SourceStored
		}
		if st.Failure != NoReason {
			return nil, factUnknown, SourceNone
		}
	}
	if sub.Partial {
		return nil, factUnknown, SourceNone
	}
	return nil, factMissing, SourceNone
}

// absentState is the state of a property that was not supplied: missing if all stored
// properties are known, otherwise unknown.
func (sub *Subject) absentState() factState {
	if sub.Partial || sub.Stored != nil && sub.Stored.Failure != NoReason {
		return factUnknown
	}
	return factMissing
}
