package sdk

import (
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
)

// FlagEndpoints returns the endpoints for flags and definitions, which need a Decider. Each path is
// served with and without a trailing slash.
func (s *Service) FlagEndpoints() []frame.Endpoint {
	return slices.Concat(
		frame.Serving(frame.ForSDKs, "/flags", frame.Methods{"POST": withFormat(flagsFormat, s.evaluate), "GET": withFormat(flagsFormat, s.minimal)}),
		frame.Serving(frame.ForSDKs, "/decide", frame.Methods{"POST": withFormat(decideFormat, s.evaluate), "GET": withFormat(decideFormat, s.minimal)}),
		frame.Serving(frame.ForSDKs, "/flags/definitions", frame.Methods{"GET": s.getDefinitions}),
		frame.Uncompressed(frame.Serving(frame.ForSDKs, "/flags/definitions/stream", frame.Methods{"GET": s.getDefinitionsStream})),
		frame.Serving(frame.ForSDKs, "/api/feature_flag/local_evaluation", frame.Methods{"GET": s.getOldLocalEvaluation}),
		frame.Serving(frame.ForSDKs, "/api/projects/{project}/feature_flags/local_evaluation", frame.Methods{"GET": s.getLocalEvaluation}),
		frame.Serving(frame.ForSDKs, "/api/environments/{project}/feature_flags/local_evaluation", frame.Methods{"GET": s.getLocalEvaluation}),
		frame.Serving(frame.ForBrowser, "/api/projects/{project}/feature_flags/{flag}/remote_config", frame.Methods{"GET": s.getRemoteConfig}),
		frame.Serving(frame.ForBrowser, "/array/config", frame.Methods{"GET": s.getArrayConfig}), // for /array//config, where the token is missing
		frame.Serving(frame.ForBrowser, "/array/config.js", frame.Methods{"GET": s.getArrayConfigJS}),
		frame.Serving(frame.ForBrowser, "/array/{token}/config", frame.Methods{"GET": s.getArrayConfig}),
		frame.Serving(frame.ForBrowser, "/array/{token}/config.js", frame.Methods{"GET": s.getArrayConfigJS}),
	)
}
