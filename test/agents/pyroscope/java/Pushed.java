import io.pyroscope.http.Format;
import io.pyroscope.javaagent.EventType;
import io.pyroscope.javaagent.PyroscopeAgent;
import io.pyroscope.javaagent.config.Config;
import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope.LabelsWrapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;

/**
 * A small program that Pyroscope's agent for Java profiles.
 *
 * <pre>Pushed ADDRESS TOKEN FORMAT</pre>
 *
 * It computes until its input ends, and pushes every two seconds: CPU time, in the format JFR
 * also allocations and waits for locks.
 */
public class Pushed {
    static volatile boolean ended;
    static volatile double sum;
    static volatile byte[] kept;

    public static void main(String[] args) throws Exception {
        Format format = Format.valueOf(args[2]);
        Config.Builder config = new Config.Builder()
            .setApplicationName("pushed.java.app").setServerAddress(args[0]).setAuthToken(args[1]).setFormat(format)
            .setProfilingEvent(EventType.ITIMER).setUploadInterval(Duration.ofSeconds(2)).setLabels(Map.of("service_version", "1.2.3"));
        if (format == Format.JFR) {
            config.setProfilingAlloc("512k").setProfilingLock("10ms");
        }
        PyroscopeAgent.start(config.build());
        new Thread(Pushed::await).start();
        LabelsSet labels = new LabelsSet("controller", "checkout");
        while (!ended) {
            LabelsWrapper.run(labels, (Runnable) Pushed::computeTax);
            renderPage();
        }
        PyroscopeAgent.stop();
        System.exit(0);
    }

    static void await() {
        try {
            System.in.readAllBytes();
        } catch (IOException e) {
            throw new RuntimeException(e);
        }
        ended = true;
    }

    /** Takes most of the time. */
    static void computeTax() {
        for (int i = 0; i < 20_000_000; i++) {
            sum += Math.sqrt(i);
        }
        for (int i = 0; i < 100; i++) {
            kept = new byte[10_000];
        }
    }

    /** Takes the rest. */
    static void renderPage() {
        for (int i = 0; i < 1_000_000; i++) {
            sum += Math.cbrt(i);
        }
    }
}
