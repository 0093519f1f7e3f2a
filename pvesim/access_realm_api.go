package pvesim

import (
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

func realmRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/domains":            listRealms,
		"POST /access/domains":           createRealm,
		"GET /access/domains/{realm}":    readRealm,
		"PUT /access/domains/{realm}":    updateRealm,
		"DELETE /access/domains/{realm}": deleteRealm,
	}
}

func listRealms(c *call) (any, error) {
	list := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.state.Access.Realms)) {
		conf := c.state.Access.Realms[name]
		entry := map[string]any{"realm": name, "type": conf["type"]}
		if conf["comment"] != "" {
			entry["comment"] = conf["comment"]
		}
		if conf["default"] == "1" {
			entry["default"] = 1
		}
		if kind := tfaKind(conf); kind != "" {
			entry["tfa"] = kind
		}
		list = append(list, entry)
	}
	return list, nil
}

// tfaKind is the kind of second factor that a realm asks for.
func tfaKind(conf map[string]string) string {
	for part := range strings.SplitSeq(conf["tfa"], ",") {
		if kind, ok := strings.CutPrefix(part, "type="); ok {
			return kind
		}
	}
	return ""
}

// realmOptions are the settings of each type of realm.
type realmOptions struct {
	required, optional, fixed []string
}

var directoryOptions = strings.Fields(`server2 port secure sslversion default comment tfa verify capath cert certkey
	bind_dn filter sync_attributes user_classes group_dn group_name_attr group_filter group_classes
	sync-defaults-options mode case-sensitive`)

var realmTypes = map[string]realmOptions{
	"pam":  {optional: []string{"default", "comment", "tfa"}},
	"pve":  {optional: []string{"default", "comment", "tfa"}},
	"ldap": {required: []string{"base_dn", "server1", "user_attr"}, optional: directoryOptions},
	"ad":   {required: []string{"domain", "server1"}, optional: slices.Concat(directoryOptions, []string{"base_dn", "user_attr"})},
	"openid": {
		required: []string{"client-id", "issuer-url"},
		optional: strings.Fields(`client-key autocreate username-claim groups-claim groups-autocreate groups-overwrite
			prompt scopes acr-values audiences default comment query-userinfo`),
		fixed: []string{"username-claim"},
	},
}

// settings takes a realm's settings from the call.
func (o realmOptions) settings(p schema.Params, create bool) (map[string]string, error) {
	out := map[string]string{}
	for _, key := range p.Keys() {
		switch key {
		case "realm", "type", "password", "check-connection", "digest", "delete":
			continue
		}
		if !create && slices.Contains(o.fixed, key) {
			return nil, die("can't change value of fixed parameter '%s'", key)
		}
		if !p.Has(key) {
			return nil, die("got undefined value for option '%s'", key)
		}
		if !slices.Contains(o.required, key) && !slices.Contains(o.optional, key) {
			return nil, die("unexpected property '%s'", key)
		}
		out[key] = p.Str(key)
		if strings.ContainsAny(out[key], "\r\n") {
			return nil, die("property contains a line feed")
		}
	}
	for _, key := range o.required {
		if _, ok := out[key]; create && !ok {
			return nil, die("missing value for required option '%s'", key)
		}
	}
	return out, nil
}

func createRealm(c *call) (any, error) {
	return nil, inUserConfig("add auth server failed", c.addRealm(c.params.Str("realm"), c.params.Str("type")))
}

func (c *call) addRealm(name, typ string) error {
	realms := c.state.Access.Realms
	switch {
	case realms[name] != nil:
		return die("domain '%s' already exists", name)
	case typ == "pam" || typ == "pve":
		return die("unable to create builtin type '%s'", typ)
	}
	if err := c.checkConnection(typ); err != nil {
		return err
	}
	conf, err := realmTypes[typ].settings(c.params, true)
	if err != nil {
		return err
	}
	c.oneDefault(conf)
	conf["type"] = typ
	realms[name] = keepSection(conf)
	return nil
}

// checkConnection refuses to try what isn't there: no directory server is
// simulated.
func (c *call) checkConnection(typ string) error {
	if !c.params.Has("check-connection") {
		return nil
	}
	if typ != "ldap" && typ != "ad" {
		return die("'check-connection' parameter can only be set for realms of type 'ldap' or 'ad'")
	}
	if c.params.Bool("check-connection") {
		return die("unable to connect to the directory server")
	}
	return nil
}

// oneDefault takes the mark of the default realm from all others when conf
// has it.
func (c *call) oneDefault(conf map[string]string) {
	if conf["default"] != "1" {
		return
	}
	for _, other := range c.state.Access.Realms {
		delete(other, "default")
	}
}

func readRealm(c *call) (any, error) {
	name := c.params.Str("realm")
	conf := c.state.Access.Realms[name]
	if conf == nil {
		return nil, die("domain '%s' does not exist", name)
	}
	params := c.schema.Lookup("POST", "/access/domains").Params
	out := map[string]any{"digest": c.realmDigest()}
	for key, v := range conf {
		out[key] = v
		if p := params[key]; p != nil && (p.Type == "boolean" || p.Type == "integer") {
			n, err := strconv.Atoi(v)
			if err == nil {
				out[key] = n
			}
		}
	}
	if name == "pam" {
		out["plugin"] = "PVE::Auth::PAM"
	}
	return out, nil
}

// realmDigest is the checksum of all realms' settings.
func (s *Sim) realmDigest() string {
	h := sha1.New()
	for _, name := range slices.Sorted(maps.Keys(s.state.Access.Realms)) {
		conf := Conf(s.state.Access.Realms[name])
		for _, key := range conf.keys() {
			h.Write([]byte(name + " " + key + " " + conf[key] + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func updateRealm(c *call) (any, error) {
	return nil, inUserConfig("update auth server failed", c.changeRealm(c.params.Str("realm")))
}

func (c *call) changeRealm(name string) error {
	if d := c.params.Str("digest"); d != "" && d != c.realmDigest() {
		return die("detected modified configuration - file changed by other user? Try again.")
	}
	conf := c.state.Access.Realms[name]
	if conf == nil {
		return die("domain '%s' does not exist", name)
	}
	if err := c.checkConnection(conf["type"]); err != nil {
		return err
	}
	news, err := realmTypes[conf["type"]].settings(c.params, false)
	if err != nil {
		return err
	}
	drop := c.params.List("delete")
	if len(drop) == 0 && len(news) == 0 && !c.params.Has("password") {
		return die("no options specified")
	}
	next := maps.Clone(conf)
	for _, key := range drop {
		delete(next, key)
	}
	maps.Copy(next, news)
	for _, key := range realmTypes[conf["type"]].required {
		if _, ok := next[key]; !ok {
			return die("section '%s' - missing value for required option '%s'", name, key)
		}
	}
	c.oneDefault(news)
	conf = keepSection(next)
	c.state.Access.Realms[name] = conf
	for key, text := range map[string]string{"pam": "Linux PAM standard authentication", "pve": "Proxmox VE authentication server"} {
		if name == key && conf["comment"] == "" {
			conf["comment"] = text
		}
	}
	return nil
}

func deleteRealm(c *call) (any, error) {
	name := c.params.Str("realm")
	if c.state.Access.Realms[name] == nil {
		return nil, inUserConfig("delete auth server failed", die("authentication domain '%s' does not exist", name))
	}
	if name != "pam" && name != "pve" { // those two come back at once
		delete(c.state.Access.Realms, name)
	}
	return nil, nil
}
