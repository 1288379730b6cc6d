package com.example.shop;

import com.example.bench.Main;
import org.yaml.snakeyaml.Yaml;

/** Reads a configuration. */
public class LoadYaml implements Main.Op {
    private final String text;

    public LoadYaml() {
        StringBuilder b = new StringBuilder("services:\n");
        for (int i = 0; i < 40; i++) {
            b.append("  - name: service-").append(i).append("\n    port: ").append(8000 + i)
                .append("\n    tags: [a, b, \"c d\"]\n    limits: {rate: 1.5, burst: ").append(i).append("}\n    note: >\n      some longer\n      text\n");
        }
        text = b.toString();
    }

    Object readConfig() {
        return new Yaml().load(text);
    }

    public Object op() {
        return readConfig();
    }
}
