package com.example.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/**
 * Main CLASS WARM-UP OPERATIONS [PROFILE LIBRARY] calls an operation so many times after a
 * warm-up, prints a benchmark's line, and writes a profile of the measured loop alone.
 * With OPERATIONS 0 it measures for about 0.3 s and prints the number of operations that
 * take a second of CPU time.
 */
public class Main {
    public interface Op { Object op() throws Exception; }

    static volatile Object sink;

    static void loop(Op o, long n) throws Exception {
        for (long i = 0; i < n; i++) sink = o.op();
    }

    static long cpu() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    static long calibrate(Op o) throws Exception {
        long n = 1;
        for (;; n *= 2) {
            long c = cpu();
            loop(o, n);
            if (cpu() - c > 2_000_000_000L) break; // compiled by now
        }
        n = Math.max(1, n / 8);
        long c = cpu();
        loop(o, n);
        return Math.max(1, (long) (n * 1e9 / Math.max(1, cpu() - c)));
    }

    public static void main(String[] a) throws Exception {
        Op o = (Op) Class.forName("com.example.shop." + a[0]).getDeclaredConstructor().newInstance();
        long warm = Long.parseLong(a[1]), ops = Long.parseLong(a[2]);
        if (ops == 0) {
            System.out.println(calibrate(o));
            System.exit(0);
        }
        loop(o, warm);
        Object profiler = null;
        Class<?> k = null;
        if (a.length > 3) {
            k = Class.forName("one.profiler.AsyncProfiler");
            profiler = k.getMethod("getInstance", String.class).invoke(null, a[4]);
            k.getMethod("execute", String.class).invoke(profiler, "start,event=cpu-clock,interval=1ms");
        }
        long c = cpu(), w = System.nanoTime();
        loop(o, ops);
        w = System.nanoTime() - w;
        c = cpu() - c;
        if (profiler != null) k.getMethod("execute", String.class).invoke(profiler, "stop,collapsed,ann,file=" + a[3]);
        System.out.printf(Locale.ROOT, "goos: linux%ngoarch: amd64%npkg: com.example.shop%nBenchmark%s-2 \t%8d\t%13.1f ns/op\t%13.1f cpu-ns/op%n",
            a[0], ops, w / (double) ops, c / (double) ops);
        System.exit(0);
    }
}
