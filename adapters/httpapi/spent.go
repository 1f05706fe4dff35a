package httpapi

import (
	"net/http"
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/management"
)

// Usage is what one SDK has spent of a resource with one key.
type Usage struct {
	// Token is the public or secret key of the project.
	Token string
	// Resource is events or feature_flags, in the units in which quotas count.
	Resource string
	// Key is project for the project's public key, else what may be shown of the key.
	Key string
	// SDK is its name as it calls itself, without a version: one of sdks.
	SDK string
	N   int64
}

// The resources of Spent.
const (
	usageEvents = "events"
	usageFlags  = "feature_flags"
)

// sdks are the names that are told apart. All others are other.
var sdks = map[string]bool{
	"posthog-js": true, "posthog-js-lite": true, "posthog-node": true, "posthog-python": true, "posthog-go": true, "posthog-ruby": true,
	"posthog-php": true, "posthog-java": true, "posthog-rust": true, "posthog-elixir": true, "posthog-dotnet": true, "posthog-android": true,
	"posthog-ios": true, "posthog-flutter": true, "posthog-react-native": true, "posthog-edge": true, "curl": true,
}

const otherSDK = "other"

// sdkOf is the SDK that sends a request: by its User-Agent, or posthog-js by the
// version that it puts into the query.
func sdkOf(r *http.Request) string {
	name, _, _ := strings.Cut(header(r.Header, "User-Agent"), "/")
	if sdks[name] {
		return name
	}
	if strings.Contains(r.URL.RawQuery, "ver=") {
		return "posthog-js"
	}
	return otherSDK
}

// maxUsage bounds what is gathered between two calls of TakeUsage; what comes
// beyond it is counted for the organization only.
const maxUsage = 4096

// usageCounter gathers what is spent. Only requests that were answered count, so that
// tokens are those of projects.
type usageCounter struct {
	mu     sync.Mutex
	counts map[Usage]*int64 // N is 0 in the keys
}

func (s *usageCounter) add(token, resource, key, sdk string, n int) {
	if n <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := Usage{Token: token, Resource: resource, Key: key, SDK: sdk}
	sum := s.counts[k]
	if sum == nil {
		if len(s.counts) >= maxUsage {
			return
		}
		k.Token, k.Key = strings.Clone(token), strings.Clone(key) // parts of a request's memory
		if s.counts == nil {
			s.counts = map[Usage]*int64{}
		}
		sum = new(int64)
		s.counts[k] = sum
	}
	*sum += int64(n)
}

// TakeUsage returns what was spent since the last call, in no order. It is for a
// report of who spends what, not for quotas, which are counted on their own.
func (h *Handler) TakeUsage() []Usage {
	if !h.isReady() {
		return nil
	}
	s := &h.server.usage
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Usage, 0, len(s.counts))
	for k, n := range s.counts {
		k.N = *n
		out = append(out, k)
	}
	s.counts = nil
	return out
}

// publicKey is Spent.Key of public keys.
const publicKey = "project"

// usageKey is how a key is named in a report.
func usageKey(token string) string {
	if strings.HasPrefix(token, "phs_") || strings.HasPrefix(token, "phx_") {
		return management.MaskKey(token)
	}
	return publicKey
}
