package otlp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// signal is a kind of data, by its name in variables.
type signal string

const (
	traces  signal = "TRACES"
	metrics signal = "METRICS"
	logs    signal = "LOGS"
)

var allSignals = []signal{traces, metrics, logs}

// environment are the variables of the process. As in the specification of OpenTelemetry, an empty
// value means that a variable is not set, and spaces around it are ignored.
type environment map[string]string

func (e environment) get(name string) string { return strings.TrimSpace(e[name]) }

// variable is a row of the table: a variable of OpenTelemetry, and a check of its value.
type variable struct {
	name  string
	check func(e environment, value string) error
}

const (
	exporterPrefix = "OTEL_EXPORTER_OTLP_"
	protocolGRPC   = "grpc"
)

// exporterVariables are the variables that exist for all signals and, with a longer prefix, for each.
var exporterVariables = []variable{
	{"ENDPOINT", checkEndpoint},
	{"PROTOCOL", oneOf("http/protobuf or grpc", "http/protobuf", protocolGRPC)},
	{"HEADERS", checkHeaders},
	{"TIMEOUT", milliseconds},
	{"COMPRESSION", oneOf("gzip or none", "gzip", "none")},
	{"INSECURE", boolean},
	{"CERTIFICATE", checkCertificates},
}

// generalVariables are the other variables for all signals.
var generalVariables = []variable{
	{"OTEL_CONFIG_FILE", refuse},
	{"OTEL_EXPERIMENTAL_CONFIG_FILE", refuse},
	{"OTEL_RESOURCE_ATTRIBUTES", checkResource},
	{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", integer(0)},
	{"OTEL_ATTRIBUTE_COUNT_LIMIT", integer(0)},
}

// signalVariables are the other variables of each signal.
var signalVariables = map[signal][]variable{
	traces: {
		{"OTEL_PROPAGATORS", checkPropagators},
		{"OTEL_TRACES_SAMPLER", checkSampler},
		{"OTEL_BSP_SCHEDULE_DELAY", milliseconds},
		{"OTEL_BSP_EXPORT_TIMEOUT", milliseconds},
		{"OTEL_BSP_MAX_QUEUE_SIZE", integer(1)},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", integer(1)},
		{"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", integer(0)},
		{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", integer(0)},
		{"OTEL_SPAN_EVENT_COUNT_LIMIT", integer(0)},
		{"OTEL_SPAN_LINK_COUNT_LIMIT", integer(0)},
		{"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", integer(0)},
		{"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", integer(0)},
	},
	metrics: {
		{"OTEL_METRIC_EXPORT_INTERVAL", milliseconds},
		{"OTEL_METRIC_EXPORT_TIMEOUT", milliseconds},
		{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", oneOf("cumulative, as all metrics of this program are", "cumulative")},
		{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", oneOf("explicit_bucket_histogram, as all histograms of this program are", "explicit_bucket_histogram")},
	},
	logs: {
		{"OTEL_BLRP_SCHEDULE_DELAY", milliseconds},
		{"OTEL_BLRP_EXPORT_TIMEOUT", milliseconds},
		{"OTEL_BLRP_MAX_QUEUE_SIZE", integer(1)},
		{"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", integer(1)},
		{logLengthLimit, integer(0)},
		{"OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", integer(0)},
	},
}

// enabled returns the signals that are sent: those with an endpoint, unless they or all are
// disabled. It checks the variables of these signals only.
func (e environment) enabled() (out []signal, err error) {
	for _, s := range allSignals {
		if e.get(exporterPrefix+"ENDPOINT") != "" || e.get(exporterPrefix+string(s)+"_ENDPOINT") != "" {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	if err := e.check(variable{"OTEL_SDK_DISABLED", boolean}); err != nil || strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") {
		return nil, err
	}
	for _, s := range out {
		if err := e.check(variable{"OTEL_" + string(s) + "_EXPORTER", oneOf("otlp or none", "otlp", "none")}); err != nil {
			return nil, err
		}
	}
	out = slices.DeleteFunc(out, func(s signal) bool { return e.get("OTEL_"+string(s)+"_EXPORTER") == "none" })
	if len(out) == 0 {
		return nil, nil
	}
	return out, e.checkAll(out)
}

// usesGRPC reports whether a signal is sent over gRPC instead of HTTP.
func (e environment) usesGRPC(s signal) bool {
	return cmp.Or(e.get(exporterPrefix+string(s)+"_PROTOCOL"), e.get(exporterPrefix+"PROTOCOL")) == protocolGRPC
}

// checkAll returns an error for the first wrong value of the variables of some signals.
func (e environment) checkAll(some []signal) error {
	list := slices.Clone(generalVariables)
	prefixes := []string{exporterPrefix}
	for _, s := range some {
		list = append(list, signalVariables[s]...)
		prefixes = append(prefixes, exporterPrefix+string(s)+"_")
	}
	for _, prefix := range prefixes {
		for _, v := range exporterVariables {
			list = append(list, variable{prefix + v.name, v.check})
		}
		list = append(list, variable{prefix + "CLIENT_CERTIFICATE", checkClient(prefix)}, variable{prefix + "CLIENT_KEY", checkClient(prefix)})
	}
	for _, v := range list {
		if err := e.check(v); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error that names the variable if its value is wrong.
func (e environment) check(v variable) error {
	value := e.get(v.name)
	if value == "" {
		return nil
	}
	if err := v.check(e, value); err != nil {
		return fmt.Errorf("%s %w", v.name, err)
	}
	return nil
}

func refuse(environment, string) error {
	return errors.New("is not supported: use the other variables of OpenTelemetry")
}

// oneOf returns a check for one of some words.
func oneOf(want string, words ...string) func(environment, string) error {
	return func(_ environment, value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("must be %s, not %q", want, value)
		}
		return nil
	}
}

func boolean(_ environment, value string) error {
	return oneOf("true or false", "true", "false")(nil, strings.ToLower(value))
}

// The maximum of durations, in milliseconds, and of other numbers.
const (
	maxMilliseconds = 3_600_000
	maxNumber       = 65_536
)

func milliseconds(_ environment, value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxMilliseconds {
		return fmt.Errorf("must be milliseconds from 1 to %d such as 10000, not %q", maxMilliseconds, value)
	}
	return nil
}

// integer returns a check for an integer from minimum to maxNumber.
func integer(minimum int) func(environment, string) error {
	return func(_ environment, value string) error {
		if n, err := strconv.Atoi(value); err != nil || n < minimum || n > maxNumber {
			return fmt.Errorf("must be a number from %d to %d, not %q", minimum, maxNumber, value)
		}
		return nil
	}
}

// checkEndpoint does not repeat the value, which may have a password.
func checkEndpoint(_ environment, value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must be a URL such as http://localhost:4318")
	case u.User != nil:
		return errors.New("must not contain a user or a password: use OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must not contain a query or a fragment")
	}
	return nil
}

// checkHeaders does not repeat the values, which are secrets.
func checkHeaders(_ environment, value string) error {
	for pair := range strings.SplitSeq(value, ",") {
		name, text, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(text)
		if !found || err != nil || !httpguts.ValidHeaderFieldName(strings.TrimSpace(name)) || !httpguts.ValidHeaderFieldValue(text) {
			return errors.New("must be NAME=VALUE, several separated by commas, such as authorization=Bearer%20KEY")
		}
		if name := http.CanonicalHeaderKey(strings.TrimSpace(name)); name == "Host" || name == "Content-Length" {
			return fmt.Errorf("must not set %s", name)
		}
	}
	return nil
}

func checkResource(_ environment, value string) error {
	for pair := range strings.SplitSeq(value, ",") {
		name, text, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(text); !found || err != nil || strings.TrimSpace(name) == "" {
			return fmt.Errorf("must be NAME=VALUE, several separated by commas, such as deployment.environment.name=production, not %q", pair)
		}
	}
	return nil
}

// readsTraceparent reports whether the propagators read the headers of the W3C.
func (e environment) readsTraceparent() bool {
	value := e.get("OTEL_PROPAGATORS")
	return value == "" || slices.ContainsFunc(strings.Split(value, ","), func(s string) bool { return strings.TrimSpace(s) == "tracecontext" })
}

// checkPropagators also accepts baggage, which is in the default value; the server does not read it.
func checkPropagators(_ environment, value string) error {
	for name := range strings.SplitSeq(value, ",") {
		if err := oneOf("tracecontext, baggage or none", "tracecontext", "baggage", "none")(nil, strings.TrimSpace(name)); err != nil {
			return err
		}
	}
	return nil
}

// checkSampler also checks the argument of a sampler.
func checkSampler(e environment, value string) error {
	value = strings.ToLower(value)
	if err := oneOf("always_on, always_off, traceidratio, or one of them after parentbased_",
		"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio")(nil, value); err != nil {
		return err
	}
	share := e.get("OTEL_TRACES_SAMPLER_ARG")
	if !strings.HasSuffix(value, "traceidratio") || share == "" {
		return nil
	}
	if f, err := strconv.ParseFloat(share, 64); err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("is %s, so OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1 such as 0.05, not %q", value, share)
	}
	return nil
}

func checkCertificates(_ environment, file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot be used: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("must name a PEM file with certificates; %s has none", file)
	}
	return nil
}

// checkClient returns a check of the certificate with which the program identifies itself.
func checkClient(prefix string) func(environment, string) error {
	return func(e environment, _ string) error {
		cert, key := e.get(prefix+"CLIENT_CERTIFICATE"), e.get(prefix+"CLIENT_KEY")
		if cert == "" || key == "" {
			return fmt.Errorf("needs the other one of %[1]sCLIENT_CERTIFICATE and %[1]sCLIENT_KEY", prefix)
		}
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			return fmt.Errorf("cannot be used: %w", err)
		}
		return nil
	}
}
