package httpapi

import (
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
)

// getDefinitionsStream checks requests in the order of §1.8, like getDefinitions.
func (s *sdkService) getDefinitionsStream(w http.ResponseWriter, r *http.Request) error {
	project, _, err := s.project(r.Context(), parseQuery(r.URL.RawQuery).Token)
	if err != nil {
		return err
	}
	text := frame.Bearer(r)
	if err := s.streams.authorize(r.Context(), text, &project); err != nil {
		return s.access.countUnknownKey(r, err)
	}
	if !s.limits.Definitions.Allow(w, project.APIKey) {
		return &problemRateLimited
	}
	members := wantsMembers(r)
	payload, version, err := payload(r.Context(), s.Decider, project.APIKey, members)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return headStream(w)
	}
	st, err := s.streams.join(&project, kindOf(members), payload, version, streamClient{key: text})
	if err != nil {
		return err
	}
	st.sdk = strings.Clone(frame.SDKOf(r)) // copied, because it may refer to the buffers of the request
	st.sent = r.Header.Get("Last-Event-ID")
	if err := st.arrive(version); err != nil {
		return err
	}
	if st.state.version != st.sent && !st.chargeDownload(r.Context()) {
		st.leave()
		return &problemQuota
	}
	return st.start(w, r)
}
