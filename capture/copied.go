package capture

import (
	"cmp"
	"slices"
	"strings"
)

// copiedKeys are the properties of an event that describe its person (§9.5).
// $os_name is not among them: it has become $os before (§8.2).
var copiedKeys = [...]string{
	"$os", "$os_version", // first: slotOS, slotOSVersion
	// mobile
	"$app_build", "$app_name", "$app_namespace", "$app_version",
	// web
	"$browser", "$browser_version", "$device_type", "$current_url", "$pathname",
	"$referring_domain", "$referrer", "$screen_height", "$screen_width",
	"$viewport_height", "$viewport_width", "$raw_user_agent",
	// campaign
	"utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_name", "utm_term",
	"gclid", "gad_source", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid",
	"twclid", "li_fat_id", "mc_cid", "igshid", "ttclid", "rdt_cid", "irclid", "_kx",
	"epik", "qclid", "sccid",
}

// geoKeys are the properties of a place (§12.1).
var geoKeys = [...]string{
	"$geoip_city_name", "$geoip_city_confidence",
	"$geoip_subdivision_1_code", "$geoip_subdivision_1_name",
	"$geoip_subdivision_2_code", "$geoip_subdivision_2_name",
	"$geoip_country_name", "$geoip_country_code",
	"$geoip_continent_name", "$geoip_continent_code",
	"$geoip_postal_code", "$geoip_latitude", "$geoip_longitude",
	"$geoip_accuracy_radius", "$geoip_time_zone",
}

// personKey is a person's property and the event's property that it comes from.
type personKey struct {
	key  string
	from slot
}

// setKeys and setOnceKeys are all that an event's properties and its place do to
// the person by $set and by $set_once, sorted by key.
var (
	setKeys     = personKeys(func(key string) string { return key })
	setOnceKeys = personKeys(func(key string) string { return "$initial_" + strings.TrimPrefix(key, "$") })
)

func personKeys(name func(string) string) []personKey {
	var keys []personKey
	for s := slotCopied; s < slotCount; s++ {
		keys = append(keys, personKey{name(slotNames[s]), s})
	}
	slices.SortFunc(keys, func(a, b personKey) int { return cmp.Compare(a.key, b.key) })
	return keys
}

// copiedProperties are the values that the person gets from the event by slot, counted
// from slotCopied; empty for none.
type copiedProperties struct {
	values [slotCount - slotCopied]string
	n      int // how many there are
}

// gather collects what §9.5 copies, and the place, where it was found.
//
// Null is not copied, as §9.5 allows: browsers send it for every campaign key
// that the address does not have.
func (f *copiedProperties) gather(p *properties, geo *[len(geoKeys)]string) {
	*f = copiedProperties{}
	server := p.isTrue(slotIsServer)
	for s := slotCopied; s < slotGeo; s++ {
		v := p.value(s)
		if v == "" || v == "null" || server && (s == slotOS || s == slotOSVersion) {
			continue
		}
		f.values[s-slotCopied] = v
		f.n++
	}
	if geo == nil {
		return
	}
	for i, v := range geo {
		if v == "" {
			v = "null" // a person who has moved is not left in the old city
		}
		f.values[int(slotGeo-slotCopied)+i] = v
	}
	f.n += len(geo)
}

// merge appends what comes from the event and what the client says, sorted; the
// client wins.
func (f *copiedProperties) merge(dst []Member, keys []personKey, client Object) []Member {
	if f.n > 0 {
		for _, k := range keys {
			v := f.values[k.from-slotCopied]
			if v == "" {
				continue
			}
			for len(client) > 0 && client[0].Key < k.key {
				dst = append(dst, client[0])
				client = client[1:]
			}
			if len(client) == 0 || client[0].Key != k.key {
				dst = append(dst, Member{k.key, v})
			}
		}
	}
	return append(dst, client...)
}
