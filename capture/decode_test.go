package capture

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bodyCase is a row of decode.json or decodev1.json.
type bodyCase struct {
	Name        string
	Body        json.RawMessage
	Text        string
	Engage      bool
	QuerySentAt string `json:"query_sent_at"`
	Want        *wantSubmission
	Refusal     *wantRefusal
	// The headers of protocol v1.
	Headers wantHeaders
	Error   *V1Error
}

type wantSubmission struct {
	Token      string     `json:"token"`
	Historical bool       `json:"historical"`
	SentAt     string     `json:"sent_at"`
	Items      []wantItem `json:"items"`
}

type wantItem struct {
	Fault      DropReason     `json:"fault"`
	Name       string         `json:"name"`
	DistinctID string         `json:"distinct_id"`
	UUID       string         `json:"uuid"`
	Timestamp  string         `json:"timestamp"`
	Offset     *int64         `json:"offset"`
	Set        map[string]any `json:"set"`
	SetOnce    map[string]any `json:"set_once"`
	Properties map[string]any `json:"properties"`
	Overrides  map[string]any `json:"overrides"`
}

type wantRefusal struct{ Kind, Code, Detail, Attr string }

// readData reads a file of testdata/capture. It replaces {{c*n}} by n times c.
func readData(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("../testdata/capture/" + name)
	if err != nil {
		t.Fatal(err)
	}
	repeats := regexp.MustCompile(`\{\{(.)\*(\d+)\}\}`)
	data = repeats.ReplaceAllFunc(data, func(m []byte) []byte {
		parts := repeats.FindSubmatch(m)
		n, _ := strconv.Atoi(string(parts[2]))
		return []byte(strings.Repeat(string(parts[1]), n))
	})
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// body returns the body of the case. A value of Body is sent exactly as it is in the file.
func (c *bodyCase) body() string {
	if c.Body != nil {
		return string(c.Body)
	}
	return c.Text
}

// submissionOf converts a submission to the form of the test data.
func submissionOf(t *testing.T, s *Submission, token string) *wantSubmission {
	t.Helper()
	out := &wantSubmission{Token: token, Historical: s.Historical}
	if !s.SentAt.IsZero() {
		out.SentAt = s.SentAt.Format(time.RFC3339Nano)
	}
	for i := range s.Items {
		it := &s.Items[i]
		w := wantItem{Fault: it.Fault, Name: it.Name, DistinctID: it.DistinctID, Timestamp: it.Timestamp,
			Set: asMap(t, it.Set), SetOnce: asMap(t, it.SetOnce), Properties: asMap(t, it.Properties), Overrides: asMap(t, it.Overrides)}
		if !it.UUID.IsZero() {
			w.UUID = it.UUID.String()
		}
		if it.HasOffset {
			w.Offset = &it.Offset
		}
		out.Items = append(out.Items, w)
	}
	return out
}

func asMap(t *testing.T, members []Member) map[string]any {
	t.Helper()
	if members == nil {
		return nil
	}
	out := map[string]any{}
	for _, m := range members {
		if _, twice := out[m.Key]; twice {
			t.Errorf("key %q stands there twice", m.Key)
		}
		var v any
		if err := json.Unmarshal([]byte(m.Value), &v); err != nil {
			t.Errorf("value of %q: %v", m.Key, err)
		}
		out[m.Key] = v
	}
	return out
}

func TestCapture_3_Bodies(t *testing.T) {
	var file struct{ Cases []bodyCase }
	readData(t, "decode.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			s, err := Decode(c.body(), DecodeOptions{Engage: c.Engage, SentAt: c.QuerySentAt})
			token := ""
			if err == nil {
				token, err = s.Token()
			}
			if diff := cmp.Diff(c.Refusal, refusalOf(t, err)); diff != "" {
				t.Fatalf("refusal (-want +got)\n%s", diff)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(c.Want, submissionOf(t, s, token)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func refusalOf(t *testing.T, err error) *wantRefusal {
	t.Helper()
	if err == nil {
		return nil
	}
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%v is a %T and no *Refusal", err, err)
	}
	kind := map[RefusalKind]string{Invalid: "invalid", Unauthorized: "unauthorized", TooLarge: "too_large"}[r.Kind]
	return &wantRefusal{kind, r.Code, r.Detail, r.Attr}
}

// TestCapture_3_Fields decodes an item and checks values that the test data does not have:
// its size, and which memory its fields share.
func TestCapture_3_Fields(t *testing.T) {
	const first, second = `{"event":"a","$set":{"s":1},"properties":{"p":1,"q":2}}`, ` {"event":"b","properties":{"r":3}, "$set_once":{"o":1}}`
	s, err := Decode("["+first+","+second+"]", DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := []int{s.Items[0].Size, s.Items[1].Size}; got[0] != len(first) || got[1] != len(second)-1 {
		t.Errorf("sizes %v, want %d and %d", got, len(first), len(second)-1)
	}
	// Appending to one list must not overwrite the next.
	_ = append(s.Items[0].Set, Member{"x", "9"})
	_ = append(s.Items[0].Properties, Member{"x", "9"})
	_ = append(s.Items[1].Properties, Member{"x", "9"})
	want := [][]Member{{{"s", "1"}}, {{"p", "1"}, {"q", "2"}}, {{"r", "3"}}, {{"o", "1"}}}
	if diff := cmp.Diff(want, [][]Member{s.Items[0].Set, s.Items[0].Properties, s.Items[1].Properties, s.Items[1].SetOnce}); diff != "" {
		t.Error(diff)
	}
}

func TestCapture_2_4_NotUTF8(t *testing.T) {
	for body, place := range map[string]int{"{\"a\":\"\xff\"}": 6, "\ufeff[\"é\ufffd\xc3\"]": 10, "\x1f\x8b\x08": 1} {
		_, err := Decode(body, DecodeOptions{})
		want := &wantRefusal{"invalid", "invalid_payload", fmt.Sprintf("failed to decode request: invalid UTF8 in request payload at byte %d", place), ""}
		if diff := cmp.Diff(want, refusalOf(t, err)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", body, diff)
		}
		_, _, err = DecodeRecording(body)
		if diff := cmp.Diff(want, refusalOf(t, err)); diff != "" {
			t.Errorf("recording %q (-want +got)\n%s", body, diff)
		}
	}
}

// TestCapture_3_ManyMembers decodes more members than the spare buffer has space for.
func TestCapture_3_ManyMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"api_key":"phc_x","batch":[`)
	const items = 40
	for i := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"event":"e","distinct_id":"u","properties":{`)
		for k := range i * 7 {
			fmt.Fprintf(&b, `"k%d":%d,`, k, i*1000+k)
		}
		b.WriteString(`"z":0}}`)
	}
	b.WriteString("]}")
	s, err := Decode(b.String(), DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range s.Items {
		if len(it.Properties) != i*7+1 {
			t.Fatalf("item %d has %d properties, want %d", i, len(it.Properties), i*7+1)
		}
		for k, m := range it.Properties[:i*7] {
			if want := (Member{fmt.Sprintf("k%d", k), strconv.Itoa(i*1000 + k)}); m != want {
				t.Fatalf("item %d: %v, want %v", i, m, want)
			}
		}
	}
	if len(s.Items) != items {
		t.Errorf("%d items, want %d", len(s.Items), items)
	}
}

// TestCapture_4_6_Bounds proves that the memory for a body is within the bound, and that the
// token and distinct id of events that are too large are decoded.
func TestCapture_4_6_Bounds(t *testing.T) {
	const one = `{"event":"e"}`
	many := "[" + strings.Repeat(one+",", maxDecoded/itemSize) + one + "]"
	_, err := Decode(many, DecodeOptions{})
	if r := refusalOf(t, err); r == nil || r.Kind != "too_large" || r.Code != "payload_too_large" {
		t.Errorf("%d items: %+v, want a refusal for size", maxDecoded/itemSize+1, r)
	}
	if _, err := Decode(strings.Replace(many, one+",", "", 1), DecodeOptions{}); err != nil {
		t.Errorf("%d items: %v", maxDecoded/itemSize, err)
	}
	nameless := "[" + strings.Repeat("{},", maxNameless) + "{}]"
	if r := refusalOf(t, errOf(Decode(nameless, DecodeOptions{}))); r == nil || r.Kind != "invalid" {
		t.Errorf("%d items without a name: %+v, want a refusal", maxNameless+1, r)
	}
	if _, err := Decode(strings.Replace(nameless, "{},", "", 1), DecodeOptions{}); err != nil {
		t.Errorf("%d items without a name: %v", maxNameless, err)
	}
	large := `{"event":"e","properties":{"a":"` + strings.Repeat("a", maxAIEvent) + `","b":1,"token":"phc_x","distinct_id":"u"}}`
	s, err := Decode(large, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Token()
	if it := s.Items[0]; err != nil || token != "phc_x" || it.DistinctID != "u" || it.Size != len(large) {
		t.Errorf("token %q (%v), distinct id %q, size %d of %d", token, err, it.DistinctID, it.Size, len(large))
	}
	if n := len(s.Items[0].Properties); n != 2 {
		t.Errorf("%d properties are kept of an event that is too large, want token and distinct_id", n)
	}
}

// TestCapture_DecodeAllocations proves that there is one allocation each for the submission,
// its items, their members and the token.
func TestCapture_DecodeAllocations(t *testing.T) {
	body := browserBatch(100)
	got := testing.AllocsPerRun(10, func() {
		if _, err := Decode(body, DecodeOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	if got > 5 {
		t.Errorf("%v allocations for 100 events, want at most 5", got)
	}
}

// browserBatch returns a batch of n events of about 680 bytes each, in the format of
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

func errOf[T any](_ T, err error) error { return err }
