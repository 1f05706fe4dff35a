package frame

import (
	"net/http"
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/management"
)

// usage is the usage of a resource by one SDK with one key: see Usage.
type usage struct {
	Token, Resource, Key, SDK string
	N                         int64
}

// The resources of usage.
const (
	UsageEvents = "events"
	UsageFlags  = "feature_flags"
)

// sdks are the names of SDKs that are counted separately.
var sdks = map[string]bool{
	"posthog-js": true, "posthog-js-lite": true, "posthog-node": true, "posthog-python": true, "posthog-go": true, "posthog-ruby": true,
	"posthog-php": true, "posthog-java": true, "posthog-rust": true, "posthog-elixir": true, "posthog-dotnet": true, "posthog-android": true,
	"posthog-ios": true, "posthog-flutter": true, "posthog-react-native": true, "posthog-edge": true, "curl": true,
}

const otherSDK = "other"

// SDKOf returns the name of the SDK that sent a request. It is in the User-Agent; requests of
// posthog-js in browsers have a version in the query instead.
func SDKOf(r *http.Request) string {
	name, _, _ := strings.Cut(Header(r.Header, "User-Agent"), "/")
	if sdks[name] {
		return name
	}
	if strings.Contains(r.URL.RawQuery, "ver=") {
		return "posthog-js"
	}
	return otherSDK
}

// maxUsage is the maximum number of entries between two calls of TakeUsage. Further usage is
// counted only for the organization.
const maxUsage = 4096

// usageCounter counts usage by project, resource, key and SDK. Only successful requests are
// counted, so tokens are those of existing projects.
type usageCounter struct {
	mu     sync.Mutex
	counts map[usage]*int64 // N is 0 in the keys
}

// Add adds n to a count. It copies the strings.
func (s *usageCounter) Add(token, resource, key, sdk string, n int) {
	if n <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := usage{Token: token, Resource: resource, Key: key, SDK: sdk}
	sum := s.counts[k]
	if sum == nil {
		if len(s.counts) >= maxUsage {
			return
		}
		k.Token, k.Key = strings.Clone(token), strings.Clone(key) // copied, because they may refer to the buffers of a request
		if s.counts == nil {
			s.counts = map[usage]*int64{}
		}
		sum = new(int64)
		s.counts[k] = sum
	}
	*sum += int64(n)
}

// Take returns the usage since the last call, in no particular order.
func (s *usageCounter) Take() []usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]usage, 0, len(s.counts))
	for k, n := range s.counts {
		k.N = *n
		out = append(out, k)
	}
	s.counts = nil
	return out
}

// PublicKey is usage.Key for public keys.
const PublicKey = "project"

// UsageKey returns the value of usage.Key for a key.
func UsageKey(token string) string {
	if strings.HasPrefix(token, "phs_") || strings.HasPrefix(token, "phx_") {
		return management.MaskKey(token)
	}
	return PublicKey
}
