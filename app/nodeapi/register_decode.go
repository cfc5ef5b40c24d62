package nodeapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

// Limits inside a registration. Lengths are in characters, sizes in bytes.
const (
	maxAddresses = 16
	maxErupts    = 5_000
	maxModules   = 1_000
	maxName      = 255
	maxResources = 64 << 10
	maxExtra     = 256 << 10
)

// decodeInfo reads a registration: UTF-8 JSON whatever the content type says. Fields that we do not know are kept;
// registerTime and locations are the server's own and are dropped (erupt-wire 10.3).
func decodeInfo(body []byte) (wire.NodeInfo, error) {
	var in wire.NodeInfo
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil {
		return in, notReadable(err)
	}
	if fields == nil {
		return in, fault.New(fault.Invalid, "the registration is null; a JSON object is expected")
	}
	if err := web.CheckJSON(body); err != nil {
		return in, err
	}
	if raw := fields["resources"]; len(raw) > maxResources {
		return in, tooLarge("resources", "%d bytes", maxResources)
	}
	for name, target := range map[string]any{
		"instanceId": &in.InstanceID, "version": &in.Version, "nodeName": &in.NodeName, "accessToken": &in.AccessToken,
		"nodeAddress": &in.NodeAddress, "eruptModules": &in.EruptModules, "erupts": &in.Erupts, "resources": &in.Resources,
	} {
		raw, ok := fields[name]
		if !ok {
			continue
		}
		delete(fields, name)
		if err := json.Unmarshal(raw, target); err != nil {
			return in, wrong(name, "has the wrong type").Because(err)
		}
	}
	delete(fields, "registerTime")
	delete(fields, "locations")
	if len(fields) > 0 {
		in.Extra = fields
	}
	return in, checkInfo(in)
}

func checkInfo(in wire.NodeInfo) error {
	switch {
	case in.NodeName == "":
		return wrong("nodeName", "is missing")
	case in.InstanceID == "":
		return wrong("instanceId", "is missing")
	case len(in.NodeAddress) == 0:
		return wrong("nodeAddress", "names no address")
	case len(in.NodeAddress) > maxAddresses:
		return tooLarge("nodeAddress", "%d addresses", maxAddresses)
	case len(in.Erupts) > maxErupts:
		return tooLarge("erupts", "%d names", maxErupts)
	case len(in.EruptModules) > maxModules:
		return tooLarge("eruptModules", "%d names", maxModules)
	}
	for name, value := range map[string]string{
		"nodeName": in.NodeName, "instanceId": in.InstanceID, "version": in.Version, "accessToken": in.AccessToken,
	} {
		if err := checkText(name, value); err != nil {
			return err
		}
	}
	for field, names := range map[string][]string{"erupts": in.Erupts, "eruptModules": in.EruptModules} {
		for _, n := range names {
			if err := checkText(field, n); err != nil {
				return err
			}
		}
	}
	return checkExtra(in)
}

func checkExtra(in wire.NodeInfo) error {
	for name, values := range in.Resources {
		for _, v := range append([]string{name}, values...) {
			if err := checkText("resources", v); err != nil {
				return err
			}
		}
	}
	size := 0
	for name, raw := range in.Extra {
		if size += len(name) + len(raw); size > maxExtra {
			return tooLarge("the unknown fields", "%d bytes in all", maxExtra)
		}
	}
	return nil
}

// checkText refuses names that are too long or hold control characters, which end up in logs, keys and headers, or those
// that turn the direction of writing around, which make a name look like another.
func checkText(field, value string) error {
	if utf8.RuneCountInString(value) > maxName {
		return tooLarge(field, "%d characters", maxName)
	}
	if strings.ContainsFunc(value, isControl) {
		return wrong(field, "holds control characters")
	}
	return nil
}

func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func wrong(field, what string) *fault.Error {
	return fault.New(fault.Invalid, "%s %s", field, what).Field(field, "%s", what)
}

func tooLarge(field, format string, limit int) *fault.Error {
	most := fmt.Sprintf(format, limit)
	return fault.New(fault.TooLarge, "%s: more than %s", field, most).Field(field, "more than %s", most)
}

func notReadable(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fault.New(fault.Invalid, "the registration is not JSON: %s (byte %d)", syntax.Error(), syntax.Offset).Because(err)
	}
	return fault.New(fault.Invalid, "the registration is no JSON object").Because(err)
}
