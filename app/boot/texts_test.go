package boot

import (
	"os"
	"regexp"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// Every refusal of the gate that a person can see has a Chinese text.
func TestRefusalsAreTranslated(t *testing.T) {
	chinese := map[string]string{}
	for _, name := range []string{"boot", "web"} {
		text, err := os.ReadFile("../../views/locale/errors_" + name + ".zh.toml")
		if err != nil {
			t.Fatal(err)
		}
		if err := toml.Unmarshal(text, &chinese); err != nil {
			t.Fatal(err)
		}
	}
	var source []byte
	for _, name := range []string{"gate.go", "examine.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	found := regexp.MustCompile(`(?:proxy\.Fail\(proxy\.\w+, |refusal\(\w+, )"([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(found) < 8 {
		t.Fatalf("only %d formats found: does this test still read the source right?", len(found))
	}
	for _, f := range found {
		if _, ok := chinese["error: "+regexp.MustCompile(`\\"`).ReplaceAllString(f[1], `"`)]; !ok {
			t.Errorf("no Chinese for %q", f[1])
		}
	}
}
