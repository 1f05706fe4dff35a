package httpapi

import (
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
)

// sdkService serves flags and what SDKs read to evaluate them.
type sdkService struct {
	*server
	access      *keyAccess
	streams     *streams
	limits      *admission.Limiters
	flagsBudget *admission.Budget
	scratch     sync.Pool // of *scratch, the buffers of one flags request
	evaluations evaluationCounter
	renewals    renewals
	scripts     *scripts // the copy of posthog-js; may be nil
}

// newSDKService returns the service of a server. files may be nil.
func newSDKService(s *server, access *keyAccess, all *streams, limits *admission.Limiters, flagsBudget *admission.Budget, files *scripts) *sdkService {
	sdk := &sdkService{server: s, access: access, streams: all, limits: limits, flagsBudget: flagsBudget, scripts: files}
	sdk.scratch.New = func() any { return newScratch(s.Decider) }
	return sdk
}

// flagEndpoints returns the endpoints for flags and definitions, which need a Decider. Each path is
// served with and without a trailing slash.
func (s *sdkService) flagEndpoints() []endpoint {
	return slices.Concat(
		serving(forSDKs, "/flags", methods{"POST": withFormat(flagsFormat, s.evaluate), "GET": withFormat(flagsFormat, s.minimal)}),
		serving(forSDKs, "/decide", methods{"POST": withFormat(decideFormat, s.evaluate), "GET": withFormat(decideFormat, s.minimal)}),
		serving(forSDKs, "/flags/definitions", methods{"GET": s.getDefinitions}),
		uncompressed(serving(forSDKs, "/flags/definitions/stream", methods{"GET": s.getDefinitionsStream})),
		serving(forSDKs, "/api/feature_flag/local_evaluation", methods{"GET": s.getOldLocalEvaluation}),
		serving(forSDKs, "/api/projects/{project}/feature_flags/local_evaluation", methods{"GET": s.getLocalEvaluation}),
		serving(forSDKs, "/api/environments/{project}/feature_flags/local_evaluation", methods{"GET": s.getLocalEvaluation}),
		serving(forBrowser, "/api/projects/{project}/feature_flags/{flag}/remote_config", methods{"GET": s.getRemoteConfig}),
		serving(forBrowser, "/array/config", methods{"GET": s.getArrayConfig}), // for /array//config, where the token is missing
		serving(forBrowser, "/array/config.js", methods{"GET": s.getArrayConfigJS}),
		serving(forBrowser, "/array/{token}/config", methods{"GET": s.getArrayConfig}),
		serving(forBrowser, "/array/{token}/config.js", methods{"GET": s.getArrayConfigJS}),
	)
}
