package config

import (
	"net/netip"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/agext/levenshtein"
)

// Key describes one setting.
type Key struct {
	Path    string // e.g. server.base_path
	Default string // as text; empty: none
	Doc     string
	Secret  bool
	kind    reflect.Type
}

// Env returns the name of the environment variable.
func (k Key) Env() string { return "EC_" + strings.ToUpper(strings.ReplaceAll(k.Path, ".", "_")) }

// Keys lists all settings in the order of Config.
var Keys = sync.OnceValue(func() []Key {
	var out []Key
	root := reflect.TypeFor[Config]()
	for i := range root.NumField() {
		section := root.Field(i)
		for j := range section.Type.NumField() {
			f := section.Type.Field(j)
			out = append(out, Key{
				Path:    section.Tag.Get("koanf") + "." + f.Tag.Get("koanf"),
				Default: f.Tag.Get("default"), Doc: f.Tag.Get("doc"), Secret: f.Tag.Get("secret") == "true", kind: f.Type,
			})
		}
	}
	return out
})

var bySpelling = sync.OnceValue(func() map[string]Key {
	out := make(map[string]Key)
	for _, k := range Keys() {
		out[flat(k.Path)] = k
	}
	return out
})

// eruptNames are erupt's names of settings that are elsewhere here, as flat leaves them.
var eruptNames = map[string]string{
	"eruptappverifycodecount": "login.captcha_after", "eruptapppwdtransferencrypt": "login.pwd_transfer_encrypt",
	"eruptappmfaenable": "login.mfa_enable", "eruptappmfaissuer": "login.mfa_issuer", "eruptappmfawindow": "login.mfa_window",
	"eruptupmsloginlockenable": "login.lock", "eruptupmsloginlockmaxfailures": "login.max_failures",
	"eruptupmsloginlocklockminutes": "login.lock_minutes",
}

// lookup finds a setting by any of its spellings: case, dashes, underscores and dots make no difference, and a leading
// "erupt" is dropped, so that erupt.cloud-server.nodeExpireTime is cloud_server.node_expire_time.
func lookup(name string) (Key, bool) {
	all := bySpelling()
	f := flat(name)
	if ours, ok := eruptNames[f]; ok {
		f = flat(ours)
	}
	if k, ok := all[f]; ok {
		return k, true
	}
	k, ok := all[strings.TrimPrefix(f, "erupt")]
	return k, ok
}

func flat(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
}

// nearest returns the known path closest to name, empty when none is near.
func nearest(name string) string {
	type scored struct {
		path string
		d    int
	}
	var all []scored
	for _, k := range Keys() {
		all = append(all, scored{k.Path, levenshtein.Distance(flat(strings.TrimPrefix(strings.ToLower(name), "erupt.")), flat(k.Path), nil)})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].d < all[j].d })
	if len(all) == 0 || all[0].d > max(3, len(all[0].path)/2) {
		return ""
	}
	return all[0].path
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	prefixesType = reflect.TypeFor[[]netip.Prefix]()
)
