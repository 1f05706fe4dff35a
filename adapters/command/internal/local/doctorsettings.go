package local

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/flags"
)

// settingCheck checks one setting. judge returns the problem, or "" if the setting is safe.
type settingCheck struct {
	name  string // of the setting
	judge func(r *settings.Resolved) string
}

// settingChecks is the table of checks.
var settingChecks = []settingCheck{
	{"listen", func(r *settings.Resolved) string {
		if !server.IsPublic(r.Config.Listen) {
			return ""
		}
		return r.Config.Listen + " can be reached from other machines over plain HTTP, and /metrics needs no key: put a proxy in front of it that terminates TLS and does not forward /metrics"
	}},
	{"rate-limit", func(r *settings.Resolved) string {
		if server.IsPublic(r.Config.Listen) && r.IsSet("rate-limit", "off") {
			return "there are no rate limits on an address that other machines can reach: use on or api"
		}
		return ""
	}},
	{"trusted-proxies", func(r *settings.Resolved) string {
		return wideNetworks(r.Config.TrustedProxies, "clients in these networks can choose the address that is rate limited, and so have no limit: list only your proxies")
	}},
	{"export-networks", func(r *settings.Resolved) string {
		return wideNetworks(r.Config.ExportNetworks, "users who manage exports can send data to every address that this machine reaches: list only the networks that are needed")
	}},
	{"definitions", func(r *settings.Resolved) string {
		for _, path := range r.Config.Definitions {
			if !hasKeys(path) {
				continue
			}
			if server.IsPublic(r.Config.Listen) {
				return path + " has personal or secret keys, which are for development and tests, on an address that other machines can reach"
			}
		}
		return ""
	}},
	{"database", func(r *settings.Resolved) string {
		if strings.HasPrefix(r.Config.Database, "sqlite::memory:") {
			return "nothing is stored: events and flags are lost when the server stops"
		}
		if r.IsIn("database", "command line") && settings.WithoutPassword(r.Config.Database) != r.Config.Database {
			return "a password on the command line can be read by every user of the machine: use BUNTING_DATABASE or the config file"
		}
		return insecurePostgres(r.Config.Database)
	}},
	{"smtp-url", func(r *settings.Resolved) string {
		switch {
		case r.Config.SMTP.URL == "":
			return ""
		case r.Config.SiteURL == "":
			return "without --site-url, links in mails use the address from the request"
		case r.IsIn("smtp-url", "command line") && r.Config.SMTP.PasswordFile == "" && settings.WithoutPassword(r.Value("smtp-url")) != r.Value("smtp-url"):
			return "a password on the command line can be read by every user of the machine: use --smtp-password-file"
		case strings.HasPrefix(r.Value("smtp-url"), "smtp+plain:") && !isLocalHost(hostOf(r.Value("smtp-url"))):
			return "mails, which contain secrets of invitations, are sent unencrypted"
		}
		return ""
	}},
	{"owner-email", func(r *settings.Resolved) string {
		if r.Config.SMTP.URL != "" && strings.HasSuffix(r.Config.OwnerEmail, "@localhost") {
			return r.Config.OwnerEmail + " cannot receive mails: give an address that can"
		}
		return ""
	}},
	{"smtp-password-file", func(r *settings.Resolved) string { return readableByOthers(r.Config.SMTP.PasswordFile) }},
	{"oidc-client-secret-file", func(r *settings.Resolved) string {
		if r.Config.SignIn == nil {
			return ""
		}
		return readableByOthers(r.Config.SignIn.OIDC.ClientSecretFile)
	}},
	{"stream-creds", func(r *settings.Resolved) string { return readableByOthers(r.Value("stream-creds")) }},
	{"config", func(r *settings.Resolved) string {
		for _, name := range []string{"database", "smtp-url", "stream"} {
			if r.IsIn(name, "config file") && settings.WithoutPassword(r.Value(name)) != r.Value(name) {
				return readableByOthers(r.File.Values[0])
			}
		}
		return ""
	}},
}

// unsafeSettings returns the findings of all checks.
func unsafeSettings(r *settings.Resolved) (out []finding) {
	for _, a := range settingChecks {
		if text := a.judge(r); text != "" {
			out = append(out, finding{"settings", levelWarning, "--" + a.name + ": " + text})
		}
	}
	if len(out) == 0 {
		out = append(out, finding{"settings", levelOK, "no unsafe settings"})
	}
	return out
}

// otlpFindings checks the variables of OpenTelemetry. Without any it returns no findings.
func otlpFindings(env map[string]string, signals func(map[string]string) ([]string, error)) []finding {
	sent, err := signals(env)
	switch {
	case err != nil:
		return []finding{{"telemetry", levelFault, err.Error() + ": the server does not start"}}
	case len(sent) > 0:
		return []finding{{"telemetry", levelOK, "the server sends " + strings.Join(sent, ", ") + " by OTLP"}}
	}
	for name := range env {
		if strings.HasPrefix(name, "OTEL_") {
			return []finding{{"telemetry", levelNote, "the server sends nothing by OTLP: OTEL_EXPORTER_OTLP_ENDPOINT is not set, or other variables disable all signals"}}
		}
	}
	return nil
}

// wideNetworks returns a problem if one of the networks is a large part of the Internet.
func wideNetworks(networks []netip.Prefix, why string) string {
	i := slices.IndexFunc(networks, func(n netip.Prefix) bool { return n.Bits() < 8 && !n.Addr().IsPrivate() })
	if i < 0 {
		return ""
	}
	return networks[i].String() + ": " + why
}

// hasKeys reports whether a definitions file contains personal or secret keys.
func hasKeys(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	f, err := flags.ParseFile(text)
	return err == nil && (len(f.PersonalKeys) > 0 ||
		slices.ContainsFunc(f.Projects, func(p flags.FileProject) bool { return len(p.PersonalKeys)+len(p.SecretKeys) > 0 }))
}

// insecurePostgres returns a problem if a database on another machine may be used without
// encryption.
func insecurePostgres(address string) string {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return ""
	}
	host := u.Query().Get("host")
	if host == "" {
		host = u.Hostname()
	}
	switch u.Query().Get("sslmode") {
	case "require", "verify-ca", "verify-full":
		return ""
	}
	if isLocalHost(host) {
		return ""
	}
	return "the connection to " + host + " may be in plain text: add sslmode=verify-full, or require"
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// isLocalHost reports whether a host is this machine: a socket, or a loopback address.
func isLocalHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || strings.HasPrefix(host, "/") || err == nil && ip.IsLoopback()
}

// readableByOthers returns a problem if other users may read a file with a secret.
func readableByOthers(path string) string {
	info, err := os.Stat(path)
	if path == "" || err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("%s contains a secret, and other users can read it (%v): run chmod 600 %s", path, info.Mode().Perm(), path)
}
