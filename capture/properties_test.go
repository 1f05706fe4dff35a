package capture

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// The truth of values is that of JavaScript.
func TestTruthy(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "null": false, "false": false, `""`: false, "0": false, "-0": false, "0.0": false, "0e5": false,
		"true": true, `"0"`: true, `"false"`: true, "1": true, "-0.5": true, "0.01e-3": true, "{}": true, "[]": true,
	} {
		if got := isTruthy(value); got != want {
			t.Errorf("truthy(%q) = %v", value, got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"äöü", 2, "äö"}, {"äöü", 3, "äöü"}, {"日本", 1, "日"}, {"", 0, ""}} {
		if got := cut(c.s, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q", c.s, c.n, got)
		}
		if got := isLonger(c.s, c.n); got != (c.want != c.s) {
			t.Errorf("longer(%q, %d) = %v", c.s, c.n, got)
		}
	}
}

// Every slot has a unique name.
func TestSlotNames(t *testing.T) {
	for s := noSlot + 1; s < slotCount; s++ {
		if name := slotNames[s]; name == "" || slots[name] != s {
			t.Errorf("slot %d: %q", s, name)
		}
	}
	if slotNames[slotOS] != "$os" || slotNames[slotOSVersion] != "$os_version" {
		t.Error("copiedKeys does not begin with the system and its version")
	}
}

// FuzzPrepare proves that for any input the stored properties are a valid JSON object without
// duplicate names, and the changes of the person are sorted objects.
func FuzzPrepare(f *testing.F) {
	f.Add("e", `{"a":1,"$ip":"::1","$os_name":"x","$os":null}`, `{"x":1}`, `null`, `{"$session_id":"S"}`, uint8(0))
	f.Add("$identify", `{"$anon_distinct_id":null,"$set":{"a":1},"$unset":["b",2]}`, `{"a":2}`, `{"a":3}`, `{}`, uint8(0xff))
	f.Add("$groupidentify", `{"$group_type":"t","$group_key":7,"$group_set":[],"$groups":{"a":1,"b":""}}`, ``, ``, ``, uint8(3))
	f.Add("$feature_flag_called", `{"$feature_flag":"f","$feature_flag_response":{}}`, ``, ``, ``, uint8(4))
	f.Add("$autocapture", `{"$elements":[{"tag_name":"a","attr__class":"b \"c","attr__x\"":"\\"},1,{"attr__class":["z",null,{}]}]}`, ``, ``, ``, uint8(8))
	f.Add("survey shown", `{"\u0001\"":"\ud800","$set":"x","$sent_at":1,"$verified":1,"$group_0":1,"$groups":{"\u0000":-1}}`, ``, `{}`, `{"alias":[]}`, uint8(16))
	f.Fuzz(func(t *testing.T, name, properties, set, setOnce, overrides string, bits uint8) {
		members := func(s string) []Member {
			o, err := ParseObject(s)
			if err != nil {
				return nil
			}
			return o
		}
		it := &Item{Name: name, DistinctID: "u", Properties: members(properties), Set: members(set),
			SetOnce: members(setOnce), Overrides: members(overrides), Size: len(properties)}
		p := testPreparer()
		p.v1, p.historical, p.project.Secret, p.project.AnonymizeIPs = bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
		if bits&16 != 0 {
			p.ip, p.sentAt = netip.MustParseAddr("192.0.2.1"), prepareTime
			p.locator = places{"192.0.2.1": {{"$geoip_city_name", `"x"`}, {"unknown", "1"}}}
		}
		hasCookielessFault(it)
		resourceOf(it)
		var out Batch
		for range 2 { // the second time with reused buffers
			reason := p.prepare(it, &out)
			if reason != NotDropped {
				continue
			}
			e := out.Events[len(out.Events)-1]
			onceEach(t, e.Properties)
			for _, o := range []Object{e.Set, e.SetOnce} {
				if !slices.IsSortedFunc(o, func(a, b Member) int { return strings.Compare(a.Key, b.Key) }) {
					t.Fatalf("not sorted: %v", o)
				}
				onceEach(t, o.String())
			}
			if e.Personless && len(e.Set)+len(e.SetOnce)+len(e.Unset)+len(e.Groups) > 0 {
				t.Fatalf("a personless event changes its person: %+v", e)
			}
		}
		if n := len(out.Events); n == 2 && out.Events[0].Properties != out.Events[1].Properties {
			t.Fatalf("two events of one item:\n%s\n%s", out.Events[0].Properties, out.Events[1].Properties)
		}
	})
}

// onceEach fails unless text is a JSON object without duplicate names.
func onceEach(t *testing.T, text string) {
	t.Helper()
	if !json.Valid([]byte(text)) || !strings.HasPrefix(text, "{") {
		t.Fatalf("no object: %s", text)
	}
	names := map[string]bool{}
	s := newScanner(text)
	s.Object(func(key string) bool {
		if names[key] {
			t.Fatalf("%q twice in %s", key, text)
		}
		names[key] = true
		_, ok := s.Raw()
		return ok
	})
}

// serverEvent is an event of a server SDK with 10 properties.
func serverEvent() *Item {
	return benchItem("order placed", `{"$lib":"posthog-go","$lib_version":"1.23.1","$is_server":true,"$geoip_disable":true,`+
		`"$os":"linux","$os_version":"6.1","$go_version":"go1.26.0","price":9.5,"currency":"EUR","order":"A-123456"}`)
}

// browserEvent is an event of posthog-js with 45 properties.
func browserEvent(extra string) *Item {
	return benchItem("$pageview", `{`+extra+`"$os":"Linux","$os_version":"6.1","$browser":"Chrome","$device_type":"Desktop","$timezone":"Europe/Berlin",`+
		`"$current_url":"https://example.com/shop/item?id=5","$host":"example.com","$pathname":"/shop/item","$raw_user_agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",`+
		`"$browser_version":140,"$browser_language":"en-US","$browser_language_prefix":"en","$screen_height":1080,"$screen_width":1920,"$viewport_height":900,"$viewport_width":1600,`+
		`"$lib":"web","$lib_version":"1.449.2","$insert_id":"abcdefghijklmnop","$time":1767268800.123,"distinct_id":"019b7960-5c00-7000-8000-000000000001","$device_id":"019b7960-5c00-7000-8000-000000000001",`+
		`"$active_feature_flags":[],"$referrer":"$direct","$referring_domain":"$direct","utm_source":null,"utm_medium":null,"utm_campaign":null,"utm_content":null,"utm_term":null,`+
		`"gclid":null,"gad_source":null,"gclsrc":null,"dclid":null,"gbraid":null,"wbraid":null,"fbclid":null,"token":"phc_abcdefghijklmnop","$session_id":"019b7960-5c00-7000-8000-000000000002",`+
		`"$window_id":"019b7960-5c00-7000-8000-000000000003","$pageview_id":"019b7960-5c00-7000-8000-000000000004","$lib_custom_api_host":"https://e.example.com","title":"Item 5","$recording_status":"disabled"}`)
}

func benchItem(name, properties string) *Item {
	return &Item{Name: name, DistinctID: "019b7960-5c00-7000-8000-000000000001", Timestamp: "2026-01-01T11:59:59.123Z",
		UUID: UUID{0x01, 0x9b, 0x79, 0x60, 0x5c, 0, 0x70, 0, 0x80, 1}, Properties: appendMembers(nil, properties), Size: len(properties) + 200}
}

func benchmarkPrepare(b *testing.B, it *Item, locator Locator) {
	const batch = 50 // events in a submission
	seen := newSeenNames()
	var out Batch
	project := &Project{ID: 1}
	b.ReportAllocs()
	for b.Loop() {
		p := preparer{project: project, now: prepareTime, sentAt: prepareTime, ip: netip.MustParseAddr("192.0.2.1"),
			locator: locator, random: func() [10]byte { return [10]byte{} }, seen: seen}
		out.Events, out.Seen = out.Events[:0], out.Seen[:0]
		for range batch {
			if p.prepare(it, &out) != NotDropped {
				b.Fatal("dropped")
			}
		}
		for _, s := range out.Seen {
			seen.mark(s)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/event")
}

func BenchmarkPrepare_Server(b *testing.B) { benchmarkPrepare(b, serverEvent(), nil) }

func BenchmarkPrepare_BrowserPersonless(b *testing.B) {
	benchmarkPrepare(b, browserEvent(`"$process_person_profile":false,`), nil)
}

func BenchmarkPrepare_BrowserIdentified(b *testing.B) {
	benchmarkPrepare(b, browserEvent(`"$process_person_profile":true,`), nil)
}

func BenchmarkPrepare_BrowserIdentifiedLocated(b *testing.B) {
	var details [][2]string
	for _, key := range geoKeys {
		details = append(details, [2]string{key, `"somewhere"`})
	}
	benchmarkPrepare(b, browserEvent(`"$process_person_profile":true,`), places{"192.0.2.1": details})
}
