package sdk

import (
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
)

// getDefinitionsStream checks requests in the order of §1.8, like getDefinitions.
func (s *Service) getDefinitionsStream(w http.ResponseWriter, r *http.Request) error {
	project, _, err := s.project(r.Context(), parseQuery(r.URL.RawQuery).Token)
	if err != nil {
		return err
	}
	text := frame.Bearer(r)
	if err := s.streams.Authorize(r.Context(), text, &project); err != nil {
		return s.access.countUnknownKey(r, err)
	}
	if !s.limits.Definitions.Allow(w, project.APIKey) {
		return &problemRateLimited
	}
	members := wantsMembers(r)
	payload, version, err := streams.Payload(r.Context(), s.Decider, project.APIKey, members)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return streams.HeadStream(w)
	}
	st, err := s.streams.Join(&project, streams.KindOf(members), payload, version, streams.Client{Key: text})
	if err != nil {
		return err
	}
	st.SDK = strings.Clone(frame.SDKOf(r)) // copied, because it may refer to the buffers of the request
	st.Sent = r.Header.Get("Last-Event-ID")
	if err := st.Arrive(version); err != nil {
		return err
	}
	if st.State.Version != st.Sent && !st.ChargeDownload(r.Context()) {
		st.Leave()
		return &problemQuota
	}
	return st.Start(w, r)
}
