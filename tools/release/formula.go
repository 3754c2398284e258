package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeFormula writes what Homebrew installs from: one file for each system that it
// runs on, and its sum.
func (r *release) writeFormula() error {
	var b strings.Builder
	fmt.Fprintf(&b, `class Beeos < Formula
  desc "Plug an agent in once, reach it over MCP, A2A and REST"
  homepage "https://github.com/beeos/beeos"
  version %q
  license "Apache-2.0"
`, r.version)
	for _, system := range []struct{ os, word string }{{"darwin", "macos"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system.word)
		for _, arch := range []struct{ arch, word string }{{"arm64", "arm"}, {"amd64", "intel"}} {
			file := r.shipped(target{system.os, arch.arch}, ".tar.gz")
			sum, err := sumOf(file)
			if errors.Is(err, fs.ErrNotExist) { // not among the targets
				continue
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "    on_%s do\n      url \"%s/v%s/%s\"\n      sha256 %q\n    end\n", arch.word, r.base, r.version, filepath.Base(file), sum)
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "beeos"
    man1.install "extras/beeos.1"
    bash_completion.install "extras/beeos.bash" => "beeos"
    zsh_completion.install "extras/_beeos"
    fish_completion.install "extras/beeos.fish"
  end

  service do
    run [opt_bin/"beeos", "serve"]
    environment_variables BEEOS_DATA: var/"beeos"
    keep_alive true
    log_path var/"log/beeos.log"
    error_log_path var/"log/beeos.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/beeos version")
  end
end
`)
	return os.WriteFile(filepath.Join(r.out, "beeos.rb"), []byte(b.String()), 0o644)
}
