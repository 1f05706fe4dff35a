package capture

import (
	"cmp"
	"slices"
	"strings"
)

// copiedKeys are the properties of an event that are copied to its person (§9.5). $os_name is
// not in the list, because normalise has replaced it by $os (§8.2).
var copiedKeys = [...]string{
	"$os", "$os_version", // must be first: slotOS, slotOSVersion
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

// geoKeys are the properties that a Locator may return for an address (§12.1).
var geoKeys = [...]string{
	"$geoip_city_name", "$geoip_city_confidence",
	"$geoip_subdivision_1_code", "$geoip_subdivision_1_name",
	"$geoip_subdivision_2_code", "$geoip_subdivision_2_name",
	"$geoip_country_name", "$geoip_country_code",
	"$geoip_continent_name", "$geoip_continent_code",
	"$geoip_postal_code", "$geoip_latitude", "$geoip_longitude",
	"$geoip_accuracy_radius", "$geoip_time_zone",
}

// personKey is a property of a person together with the slot of the event's property that it
// is copied from.
type personKey struct {
	key  string
	from slot
}

// setKeys and setOnceKeys are the properties that an event's own properties and its location
// set on the person, by $set and by $set_once. They are sorted by key, because merge relies
// on the order.
var (
	setKeys     = personKeys(func(key string) string { return key })
	setOnceKeys = personKeys(func(key string) string { return "$initial_" + strings.TrimPrefix(key, "$") })
)

// personKeys returns one personKey for each copied slot, sorted by key. name returns the name
// of the person's property for the event's property.
func personKeys(name func(string) string) []personKey {
	var keys []personKey
	for s := slotCopied; s < slotCount; s++ {
		keys = append(keys, personKey{name(slotNames[s]), s})
	}
	slices.SortFunc(keys, func(a, b personKey) int { return cmp.Compare(a.key, b.key) })
	return keys
}

// copiedProperties has the values that are copied from the event to the person, indexed by
// slot minus slotCopied. The empty string means that there is no value.
type copiedProperties struct {
	values [slotCount - slotCopied]string
	n      int // number of values that are not empty
}

// gather collects the properties to copy (§9.5), and the location if geo is not nil.
//
// Values that are null are not copied, as §9.5 allows: browsers send null for every campaign
// key that the page's URL does not have.
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
			v = "null" // so that a person who has moved does not stay in the old city
		}
		f.values[int(slotGeo-slotCopied)+i] = v
	}
	f.n += len(geo)
}

// merge appends the values copied from the event and the members that the client sent, sorted
// by key. If both have a key, the client's value wins. keys and client must be sorted.
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
