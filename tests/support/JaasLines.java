import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

/** Answers a line for each line: what Kafka reads of a sasl.jaas.config, as "USERNAME PASSWORD". Texts are UTF-8 in hex. */
public class JaasLines {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                Password jaas = new Password(new String(HexFormat.of().parseHex(line), StandardCharsets.UTF_8));
                JaasContext context = JaasContext.loadClientContext(Map.of(SaslConfigs.SASL_JAAS_CONFIG, jaas));
                AppConfigurationEntry entry = context.configurationEntries().get(0);
                System.out.println(hex(entry, "username") + " " + hex(entry, "password"));
            } catch (RuntimeException refused) {
                System.out.println("! " + refused);
            }
        }
    }

    private static String hex(AppConfigurationEntry entry, String name) {
        return HexFormat.of().formatHex(((String) entry.getOptions().get(name)).getBytes(StandardCharsets.UTF_8));
    }
}
