package capture

import (
	"fmt"
	"strings"
	"testing"
)

// browserBatch is a batch of n events of about 600 bytes each, in the form of
// posthog-js.
func browserBatch(n int) string {
	var b strings.Builder
	b.WriteString(`{"api_key":"phc_testtoken","batch":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"uuid":"01a1f996-8fd8-7737-8d21-%012x","event":"$pageview","properties":{"$os":"Linux","$browser":"Chrome",`+
			`"$device_type":"Desktop","$current_url":"http://127.0.0.1:9812/page.html?utm_source=test","$host":"127.0.0.1:9812",`+
			`"$pathname":"/page.html","$browser_version":139,"$screen_height":720,"$screen_width":1280,"$lib":"web","$lib_version":"1.449.2",`+
			`"$time":1795188756.441,"distinct_id":"01a1f996-88fb-7002-96c0-75473bbde37d","gclid":null,"$referrer":"$direct",`+
			`"$active_feature_flags":["beta-feature"],"token":"phc_testtoken","$session_id":"01a1f996-8933-7960-ba09-d1bc8efaca6c",`+
			`"$is_identified":false,"$process_person_profile":false},"timestamp":"2026-11-20T15:32:36.440Z"}`, i)
	}
	b.WriteString(`],"sent_at":"2026-11-20T15:32:37.000Z"}`)
	return b.String()
}

func BenchmarkDecode_100Events(b *testing.B) {
	body := browserBatch(100)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(body, DecodeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/event")
}
