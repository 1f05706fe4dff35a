package batchexports

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// The types of destinations (decision 23).
const (
	destinationS3       = "S3"
	destinationPostgres = "Postgres"
	destinationHTTP     = "HTTP"
	destinationFiles    = "Files"
)

// destinationKey is a setting of a type of destination. kind is its JSON type in
// Python's words, which errors use: str, int, bool or list.
type destinationKey struct {
	name, kind       string
	required, secret bool
	// requiredForTest: a test cannot run without it.
	requiredForTest bool
	// isAddress: it says where secrets are sent, and how safely. It changes only together
	// with them, else whoever may change an export could have them sent to a host of
	// their own.
	isAddress bool
}

// The values of sslmode, of a destination of type Postgres; sslRequire by default.
const (
	sslRequire = "require"
	SSLPrefer  = "prefer"
	SSLDisable = "disable"
)

// destinationKeys are the settings by type, §4.3.2. All take those of
// commonDestinationKeys too. Files is a type of ours: path is a folder below the
// data folder's exports/, prefix begins the names of the files in it.
var destinationKeys = map[string][]destinationKey{
	destinationS3: {
		{name: "bucket_name", kind: "str", required: true, requiredForTest: true, isAddress: true},
		{name: "region", kind: "str", required: true, isAddress: true},
		{name: "prefix", kind: "str", required: true},
		{name: "aws_access_key_id", kind: "str", secret: true, requiredForTest: true},
		{name: "aws_secret_access_key", kind: "str", secret: true, requiredForTest: true},
		{name: "compression", kind: "str"},
		{name: "encryption", kind: "str"},
		{name: "kms_key_id", kind: "str"},
		{name: "endpoint_url", kind: "str", isAddress: true},
		{name: "file_format", kind: "str"},
		{name: "max_file_size_mb", kind: "int"},
		{name: "use_virtual_style_addressing", kind: "bool"},
	},
	destinationPostgres: {
		{name: "user", kind: "str", required: true, secret: true, requiredForTest: true},
		{name: "password", kind: "str", required: true, secret: true, requiredForTest: true},
		{name: "host", kind: "str", required: true, requiredForTest: true, isAddress: true},
		{name: "database", kind: "str", required: true, requiredForTest: true},
		{name: "schema", kind: "str"},
		{name: "table_name", kind: "str"},
		{name: "port", kind: "int", isAddress: true},
		{name: "has_self_signed_cert", kind: "bool", isAddress: true},
		{name: "sslmode", kind: "str", isAddress: true},
	},
	destinationHTTP: {
		{name: "url", kind: "str", required: true, requiredForTest: true, isAddress: true},
		{name: "token", kind: "str", required: true, secret: true, requiredForTest: true},
	},
	destinationFiles: {
		{name: "path", kind: "str", required: true},
		{name: "prefix", kind: "str"},
		{name: "compression", kind: "str"},
		{name: "file_format", kind: "str"},
		{name: "max_file_size_mb", kind: "int"},
	},
}

var commonDestinationKeys = []destinationKey{
	{name: "include_events", kind: "list"},
	{name: "exclude_events", kind: "list"},
}

// destinationTypes are the types in the order of the documentation.
var destinationTypes = []string{destinationS3, destinationPostgres, destinationHTTP, destinationFiles}

// fileCompressions are the compressions by file format, for S3 and Files.
var fileCompressions = map[string][]string{
	"JSONLines": {"gzip", "brotli"},
	"Parquet":   {"zstd", "lz4", "snappy", "gzip", "brotli"},
}

// destinationFault is one of the errors of a destination's settings.
func destinationFault(format string, args ...any) error {
	return management.Fault("destination", format, args...)
}

// readDestination reads and checks a destination. stored is the one that it
// changes, whose settings stay where none are given; nil when it is new.
func readDestination(raw json.RawMessage, stored *ExportDestination) (*ExportDestination, error) {
	var members map[string]json.RawMessage
	if management.JSONKind(raw) != "dict" || json.Unmarshal(raw, &members) != nil {
		return nil, destinationFault("Invalid data. Expected a dictionary, but got %s.", management.JSONKind(raw))
	}
	out := &ExportDestination{Config: map[string]json.RawMessage{}}
	kind := &management.Field{Name: "destination__type", Type: management.Choice, Choices: destinationTypes, Required: true}
	if text, ok := members["type"]; ok {
		v, err := kind.Read(text)
		if err != nil {
			return nil, err
		}
		out.Type = v.(string)
	} else if stored == nil {
		return nil, management.CodedFault(management.CodeRequired, kind.Name, "This field is required.")
	}
	if stored != nil {
		if out.Type != "" && out.Type != stored.Type {
			return nil, destinationFault("Cannot change destination type from '%s' to '%s'. Make a new batch export instead.", stored.Type, out.Type)
		}
		out.Type = stored.Type
		maps.Copy(out.Config, stored.Config)
	}
	for _, name := range []string{"integration", "integration_id"} {
		if text, ok := members[name]; ok && management.JSONKind(text) != "NoneType" {
			return nil, management.CodedFault(management.CodeDoesNotExist, "destination__"+name, "Invalid pk %q - object does not exist.", strings.Trim(string(text), `"`))
		}
	}
	config, ok := members["config"]
	if !ok && stored == nil {
		return nil, management.CodedFault(management.CodeRequired, "destination__config", "This field is required.")
	}
	var sent map[string]json.RawMessage
	if ok {
		if management.JSONKind(config) != "dict" || json.Unmarshal(config, &sent) != nil {
			return nil, management.CodedFault(management.CodeNotADict, "destination__config", "Expected a dictionary of items but got type %q.", management.JSONKind(config))
		}
		maps.Copy(out.Config, sent)
	}
	if err := out.check(); err != nil || stored == nil {
		return out, err
	}
	return out, out.checkSecretsResent(stored, sent)
}

// checkSecretsResent refuses to send stored secrets to another place: where one of
// the settings that say where is changed, the secrets have to be given again.
func (d *ExportDestination) checkSecretsResent(stored *ExportDestination, sent map[string]json.RawMessage) error {
	var changed, missing []string
	for _, k := range d.keys() {
		_, resent := sent[k.name]
		switch {
		case k.isAddress && d.valueOf(k) != stored.valueOf(k):
			changed = append(changed, "'"+k.name+"'")
		case k.secret && stored.text(k.name) != "" && !resent:
			missing = append(missing, "'"+k.name+"'")
		}
	}
	if len(changed) == 0 || len(missing) == 0 {
		return nil
	}
	return destinationFault("Changing %s needs %s again: what is stored is not sent to another place.", strings.Join(changed, ", "), strings.Join(missing, ", "))
}

// keyDefaults are what settings that say where mean when they are not there.
var keyDefaults = map[string]string{"port": "5432", "has_self_signed_cert": "false", "sslmode": sslRequire}

// valueOf is a setting as it is compared: absent, null and empty are its default.
func (d *ExportDestination) valueOf(k destinationKey) string {
	text := string(d.Config[k.name])
	if k.kind == "str" {
		text = d.text(k.name)
	}
	if text == "" || text == "null" && k.kind != "str" {
		return keyDefaults[k.name]
	}
	return text
}

// keys are the settings of the type.
func (d *ExportDestination) keys() []destinationKey {
	return slices.Concat(destinationKeys[d.Type], commonDestinationKeys)
}

// check looks at all settings, and brings texts of numbers and truths into form.
func (d *ExportDestination) check() error {
	keys := d.keys()
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(d.Config)) {
		if !slices.ContainsFunc(keys, func(k destinationKey) bool { return k.name == name }) {
			unknown = append(unknown, "'"+name+"'")
		}
	}
	if len(unknown) > 0 {
		return destinationFault("Configuration has unknown field/s: %s", strings.Join(unknown, ", "))
	}
	for _, k := range keys {
		raw, present := d.Config[k.name]
		if !present && k.required {
			return destinationFault("Configuration missing required field: '%s'", k.name)
		}
		if !present || management.JSONKind(raw) == "NoneType" && !k.required {
			continue
		}
		value, err := k.read(raw)
		if err != nil {
			return err
		}
		d.Config[k.name] = value
	}
	return d.checkType()
}

// read checks the type of a setting.
func (k destinationKey) read(raw json.RawMessage) (json.RawMessage, error) {
	kind := management.JSONKind(raw)
	if kind == "str" && k.kind != "str" {
		var text string
		_ = json.Unmarshal(raw, &text) // it is part of what has been read
		text = strings.ToLower(strings.TrimSpace(text))
		if _, err := strconv.ParseInt(text, 10, 64); k.kind == "int" && err == nil || k.kind == "bool" && (text == "true" || text == "false") {
			return json.RawMessage(text), nil
		}
	}
	if kind != k.kind {
		return nil, destinationFault("Configuration has invalid type: got '%s', expected '%s'", kind, k.kind)
	}
	if kind == "list" {
		if _, err := management.ReadTextList(&management.Field{Name: "destination", MaxLength: 400}, raw, kind); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// text is a setting that is a text, "" for none.
func (d *ExportDestination) text(name string) string {
	var text string
	_ = json.Unmarshal(d.Config[name], &text) // of another type: none
	return text
}

// int is a setting that is a number, or another one when there is none.
func (d *ExportDestination) int(name string, fallback int64) int64 {
	n, ok := management.Integer(d.Config[name], management.JSONKind(d.Config[name]))
	if !ok {
		return fallback
	}
	return n
}

// texts is a setting that is a list of texts, nil for none.
func (d *ExportDestination) texts(name string) []string {
	var list []string
	_ = json.Unmarshal(d.Config[name], &list) // of another type: none
	return list
}

// checkType looks at what a type's settings mean together.
func (d *ExportDestination) checkType() error {
	switch d.Type {
	case destinationS3:
		if err := d.checkFiles(); err != nil {
			return err
		}
		switch encryption := d.text("encryption"); encryption {
		case "", "AES256":
		case "aws:kms":
			if d.text("kms_key_id") == "" {
				return destinationFault("Configuration missing required field: 'kms_key_id'")
			}
		default:
			return destinationFault("Encryption %s is not supported. Supported are AES256, aws:kms.", encryption)
		}
		return checkAddress("endpoint_url", d.text("endpoint_url"), true)
	case destinationFiles:
		path, prefix := d.text("path"), d.text("prefix")
		for _, text := range []string{path, prefix} {
			if strings.HasPrefix(text, "/") || strings.ContainsAny(text, "\\\x00") || slices.Contains(strings.Split(text, "/"), "..") {
				return destinationFault("'path' and 'prefix' are below the server's folder of exports: without .., backslashes and a slash at the beginning.")
			}
		}
		return d.checkFiles()
	case destinationPostgres:
		if port := d.int("port", 5432); port < 1 || port > 65535 {
			return destinationFault("'port' is a number from 1 to 65535.")
		}
		if mode := d.text("sslmode"); mode != "" && !slices.Contains([]string{sslRequire, SSLPrefer, SSLDisable}, mode) {
			return destinationFault("'sslmode' %s is not supported. Supported are %s, %s, %s.", mode, sslRequire, SSLPrefer, SSLDisable)
		}
	case destinationHTTP:
		return checkAddress("url", d.text("url"), false)
	}
	return nil
}

func checkAddress(name, text string, optional bool) error {
	if text == "" && optional {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return destinationFault("'%s': Enter a valid URL.", name)
	}
	return nil
}

// checkFiles looks at the settings of what is written as files.
func (d *ExportDestination) checkFiles() error {
	format := d.text("file_format")
	if format == "" {
		format = "JSONLines"
	}
	allowed, ok := fileCompressions[format]
	if !ok {
		return destinationFault("File format %s is not supported. Supported are JSONLines, Parquet.", format)
	}
	if c := d.text("compression"); c != "" && !slices.Contains(allowed, c) {
		return destinationFault("Compression %s is not supported for file format %s. Supported are %s.", c, format, strings.Join(allowed, ", "))
	}
	if d.int("max_file_size_mb", 1) < 1 {
		return destinationFault("'max_file_size_mb' is a number above 0.")
	}
	return nil
}

// view is the destination without its secrets.
func (d *ExportDestination) view() ExportDestination {
	out := ExportDestination{Type: d.Type, Config: maps.Clone(d.Config)}
	for _, k := range d.keys() {
		if k.secret {
			delete(out.Config, k.name)
		}
	}
	return out
}

// configured reports whether everything is there that a test needs.
func (d *ExportDestination) configured() bool {
	return !slices.ContainsFunc(d.keys(), func(k destinationKey) bool { return k.requiredForTest && d.text(k.name) == "" })
}

// redact takes the secrets out of a message. Those too short to be told from
// other words stay.
func (d *ExportDestination) redact(text string) string {
	for _, k := range d.keys() {
		if secret := d.text(k.name); k.secret && len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "***")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "***")
		}
	}
	return text
}
