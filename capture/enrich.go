package capture

import (
	"net/netip"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// normalise converts an event's properties to the form in which they are stored (§8.2, §3.6,
// §12.7), except for the properties that depend on the person.
func (p *preparer) normalise() {
	props := &p.props
	for _, s := range bloat {
		props.remove(s)
	}
	props.remove(slotVerified)
	if p.project.Secret {
		props.put(slotVerified, "true")
	}
	if props.value(slotIP) == "" && p.ip.IsValid() {
		props.put(slotIP, p.ipText())
	}
	if !p.sentAt.IsZero() {
		props.put(slotSentAt, p.sentAtText())
	}
	if name := props.value(slotOSName); name != "" && !props.isTrue(slotIsServer) {
		if isTruthy(name) || props.value(slotOS) == "" {
			props.put(slotOS, name)
		}
		props.remove(slotOSName)
	}
	if id := props.value(slotSessionID); id != "" {
		props.put(slotSessionID, sessionID(id))
	}
}

// sessionID returns the normal form of a $session_id: a UUID is converted to lower case; any
// other value is returned unchanged.
func sessionID(value string) string {
	id, ok := text(value)
	if !ok || len(id) == 36 && strings.ToLower(id) == id {
		return value
	}
	if u, ok := wire.ParseUUID(id); ok {
		return wire.Quote(u.String())
	}
	return value
}

// takeElementsChain returns the elements chain of the event (§8.2) and removes it from the
// properties. A $elements_chain takes precedence over a list in $elements.
func (p *preparer) takeElementsChain() string {
	props := &p.props
	chain := ""
	list := props.value(slotElements)
	if s, ok := text(props.value(slotElementsChain)); ok {
		chain = s
		props.remove(slotElementsChain)
	} else if isList(list) {
		start := len(p.buf)
		p.buf = appendElementsChain(p.buf, list)
		chain = p.cut(start)
	}
	if isList(list) {
		props.remove(slotElements)
	}
	return chain
}

// loopback is replaced by loopbackSubstitute, an address that has a location, so that
// location works during development (§12.1).
var (
	loopback           = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopbackSubstitute = netip.AddrFrom4([4]byte{13, 106, 122, 3})
)

// locate finds the location of the event's address, sets its properties on the event and
// returns them (§12.1). It returns nil if the location is unknown or location is disabled.
//
// The event's own $ip takes precedence over the client's address even if it is not a valid
// address: in that case the client does not wish to be located.
func (p *preparer) locate() *[len(geoKeys)]string {
	if p.locator == nil || isTruthy(p.props.value(slotGeoIPDisable)) {
		return nil
	}
	ip := p.ip
	if i := p.props.value(slotIP); i != "" && i != p.ipQuoted {
		s, _ := text(i)
		var err error
		if ip, err = netip.ParseAddr(s); err != nil {
			return nil
		}
	}
	if ip = ip.Unmap().WithZone(""); !ip.IsValid() {
		return nil
	}
	if ip == loopback {
		ip = loopbackSubstitute
	}
	details := p.locator.Details(ip)
	if len(details) == 0 {
		return nil
	}
	p.geo = [len(geoKeys)]string{}
	for _, d := range details {
		if s := slots[d[0]]; s >= slotGeo {
			p.geo[s-slotGeo] = d[1]
			p.props.put(s, d[1])
		}
	}
	return &p.geo
}

// ipText returns the client's address as a JSON string.
func (p *preparer) ipText() string {
	if p.ipQuoted == "" {
		p.ipQuoted = wire.Quote(p.ip.Unmap().WithZone("").String())
	}
	return p.ipQuoted
}

// timeForm is the layout of times in properties, with the quotes of JSON.
const timeForm = `"2006-01-02T15:04:05.000Z"`

// sentAtText returns the send time as a JSON string. It is the same for all events of a
// submission.
func (p *preparer) sentAtText() string {
	if p.sentAtQuoted == "" {
		p.sentAtQuoted = p.sentAt.UTC().Format(timeForm)
	}
	return p.sentAtQuoted
}

// maxGroupName is the greatest length of a group's key (§4.6) and of the name of its type, in
// characters.
const maxGroupName = 400

// groups returns the groups of an event (§11.2). Keys must be strings that are not empty or
// numbers; other members are ignored.
func (p *preparer) groups() []GroupKey {
	value := p.props.value(slotGroups)
	if !isObject(value) {
		return nil
	}
	p.scratch = appendMembers(p.scratch[:0], value)
	var groups []GroupKey
	for _, m := range p.scratch {
		if m.Key == "" || isLonger(m.Key, maxGroupName) || !isGroupKey(m.Value) {
			continue
		}
		if groups == nil {
			groups = make([]GroupKey, 0, len(p.scratch))
		}
		groups = append(groups, GroupKey{m.Key, m.Value})
	}
	if groups != nil {
		for s := slotGroup0; s <= slotGroup4; s++ {
			p.props.remove(s) // the recorder adds the current ones
		}
	}
	return groups
}

// isGroupKey reports whether a JSON value can be the key of a group.
func isGroupKey(value string) bool {
	switch c := value[0]; {
	case c == '"':
		return len(value) > 2
	case c == '-' || c >= '0' && c <= '9':
		return true
	}
	return false
}

// groupText returns the value of slot s, $group_type or $group_key, as a string. It is empty
// if the value is falsy (§11.3).
func (p *preparer) groupText(s slot) string {
	value := p.props.value(s)
	if !isTruthy(value) {
		return ""
	}
	return replaceNUL(asText(value))
}

// groupUpdate returns the change that a $groupidentify event requests, or nil if it has no
// valid group.
func (p *preparer) groupUpdate() *GroupUpdate {
	g := GroupUpdate{Type: p.groupText(slotGroupType), Key: p.groupText(slotGroupKey)}
	if g.Type == "" || g.Key == "" || isLonger(g.Type, maxGroupName) {
		return nil
	}
	if set := p.props.value(slotGroupSet); isObject(set) {
		g.Set = NewObject(appendMembers(nil, set))
	}
	return &g
}

// These limits bound the key of a flag and its value in a FlagCall, in characters. Longer
// ones are truncated.
const (
	maxFlagKey   = 400
	maxFlagValue = 200
)

// flagCall returns the flag call of an exposure event (§12.3), or nil if the event has no
// flag.
func (p *preparer) flagCall() *FlagCall {
	flag, _ := text(p.props.value(slotFlag))
	if flag == "" {
		return nil
	}
	value := p.props.value(slotFlagResponse)
	if s, ok := text(value); ok {
		value = s
	} else if value == "" {
		value = "null"
	}
	return &FlagCall{Flag: cut(flag, maxFlagKey), Value: cut(value, maxFlagValue)}
}
