package capture

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantHeaders are headers by the names in the test data.
type wantHeaders map[string]string

func (h wantHeaders) headers() V1Headers {
	return V1Headers{SdkInfo: h["sdk_info"], Attempt: h["attempt"], RequestID: h["request_id"],
		RequestTimestamp: h["request_timestamp"], UserAgent: h["user_agent"]}
}

func v1Cases(t testing.TB) []bodyCase {
	var file struct {
		Headers wantHeaders
		Cases   []bodyCase
	}
	readData(t, "decodev1.json", &file)
	for i := range file.Cases {
		all := maps.Clone(file.Headers)
		maps.Copy(all, file.Cases[i].Headers)
		file.Cases[i].Headers = all
	}
	return file.Cases
}

func TestCapture_6_Bodies(t *testing.T) {
	for _, c := range v1Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			s, err := DecodeV1(c.body(), c.Headers.headers(), nil)
			if diff := cmp.Diff(c.Error, v1ErrorOf(t, err)); diff != "" {
				t.Fatalf("error (-want +got)\n%s", diff)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(c.Want, submissionOf(t, s, "")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !s.V1 || len(s.Tokens) != 0 {
				t.Errorf("V1 is %v, Tokens %q, want true and none", s.V1, s.Tokens)
			}
		})
	}
}

func v1ErrorOf(t *testing.T, err error) *V1Error {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *V1Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is a %T and no *V1Error", err, err)
	}
	return e
}

// TestCapture_6_2_TooMany proves that the limit of v0 also applies to v1, with the status of
// v1.
func TestCapture_6_2_TooMany(t *testing.T) {
	c := v1Cases(t)[0]
	members := strings.Repeat(`"":1,`, 10)
	for i := range 10 {
		members = strings.Replace(members, `""`, `"`+string(rune('a'+i))+`"`, 1)
	}
	var b strings.Builder
	b.WriteString(`{"created_at":"2026-11-20T15:28:20Z","batch":[`)
	for i := range maxDecoded / (itemSize + 10*memberSize) {
		b.WriteString(`{"uuid":"` + (UUID{1, 2: byte(i >> 16), 3: byte(i >> 8), 4: byte(i)}).String() + `","properties":{` + members + `"z":1}},`)
	}
	b.WriteString(`{"uuid":"00000000-0000-0000-0000-000000000002"}]}`)
	_, err := DecodeV1(b.String(), c.Headers.headers(), nil)
	if e := v1ErrorOf(t, err); e == nil || e.Status != 413 || e.Tag != "payload_too_large" {
		t.Errorf("%+v, want 413 payload_too_large", e)
	}
}
